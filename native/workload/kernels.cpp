#include "workload/kernels.hpp"

#include <vector>

#include "base/ensure.hpp"
#include "base/hash.hpp"
#include "trace/communicates.hpp"
#include "trace/schema.hpp"
#include "workload/checks.hpp"

namespace yantra {

namespace {

std::vector<u32> codes_of(const std::vector<std::string>& names, Interner& all) {
    std::vector<u32> codes;
    codes.reserve(names.size());
    for (const std::string& name : names) {
        codes.push_back(all.intern(name) + 1);
    }
    return codes;
}

u32 code_of(const SharedVector<i32>& column, const std::vector<u32>& codes, u32 node) {
    return column.empty() || column[node] < 0 ? 0 : codes[static_cast<std::size_t>(column[node])];
}

u64 known_or_0(const IntColumn& column, u32 node) {
    return column.kind_of(node) == IntColumn::integer ? column.value[node] : 0;
}

}  // namespace

std::size_t KernelTable::HashRow::operator()(const Row& row) const {
    u64 hash = mix(mix(row.op_class, row.dtype), row.phase);
    for (u64 value : {row.flops, row.bytes, row.recorded_ns}) {
        hash = mix(hash, value);
    }
    for (u64 size : row.sizes) {
        hash = mix(hash, size);
    }
    return hash;
}

bool KernelTable::is_kernel(const Graph& graph, u32 node) const {
    if (static_cast<NodeType>(graph.type[node]) != NodeType::comp) {
        return false;
    }
    if (needs_.may_communicate && (communicates_at_recorded_time(graph, node) || is_delay(graph, node) ||
                                   lacks_work(graph, node, needs_.flops, needs_.bytes))) {
        return false;
    }
    const bool is_absent = graph.is_cpu_op.kind_of(node) == IntColumn::absent;
    return is_absent ? !needs_.missing_is_cpu_op_means_cpu : known_or_0(graph.is_cpu_op, node) == 0;
}

u64 KernelTable::needed(const IntColumn& column, u32 node, const char* name, bool is_needed,
                        std::vector<Problem>& problems) const {
    const IntColumn::Kind kind = column.kind_of(node);
    if (is_needed && kind != IntColumn::integer) {
        const char* wrong = kind == IntColumn::other ? "' is not an integer" : "' is missing";
        problems.push_back({node, false, std::string("attribute '") + name + wrong});
    }
    return kind == IntColumn::integer ? column.value[node] : 0;
}

u32 KernelTable::row_of(const Row& row) {
    const auto [at, is_new] = known_.try_emplace(row, static_cast<u32>(count.size()));
    if (is_new) {
        op_class.push_back(row.op_class);
        dtype.push_back(row.dtype);
        phase.push_back(row.phase);
        flops.push_back(row.flops);
        bytes.push_back(row.bytes);
        recorded_ns.push_back(row.recorded_ns);
        for (std::size_t at = 0; at < sizes.size(); ++at) {
            sizes[at].push_back(row.sizes[at]);
        }
        count.push_back(0);
    }
    return at->second;
}

std::vector<Problem> KernelTable::add(const std::shared_ptr<const Graph>& shared, u64 ranks) {
    const Graph& graph = *shared;
    std::vector<Problem> problems;
    OfGraph& of = graphs_[&graph];
    if (of.graph != nullptr) {   // several templates may be one graph
        for (u32 row : of.rows) {
            if (row != none) {
                count[row] += ranks;
            }
        }
        return problems;
    }
    of.graph = shared;
    of.rows.assign(graph.size(), none);
    const std::vector<u32> op_class_codes = codes_of(graph.op_classes, op_classes_);
    const std::vector<u32> dtype_codes = codes_of(graph.dtypes, dtypes_);
    const std::vector<u32> phase_codes = codes_of(graph.phases, phases_);
    for (u32 node = 0; node < graph.size(); ++node) {
        if (!is_kernel(graph, node)) {
            continue;
        }
        Row row;
        row.op_class = code_of(graph.op_class, op_class_codes, node);
        row.dtype = code_of(graph.dtype, dtype_codes, node);
        row.phase = code_of(graph.phase, phase_codes, node);
        row.flops = needed(graph.num_ops, node, "num_ops", needs_.flops, problems);
        row.bytes = needed(graph.tensor_size, node, "tensor_size", needs_.bytes, problems);
        if (check_duration(graph, node, needs_.whole_microseconds, longest_ticks, problems)) {
            row.recorded_ns = graph.recorded_ns(node, needs_.whole_microseconds);
        }
        for (std::size_t at = 0; at < row.sizes.size(); ++at) {
            row.sizes[at] = known_or_0(graph.kernel_size[at], node);
        }
        of.rows[node] = row_of(row);
        count[of.rows[node]] += ranks;
    }
    return problems;
}

void KernelTable::set_ns(std::span<const double> ns, TimeScale scale) {
    ensure(ns.size() == count.size(), "kernels: one duration for each row");
    ticks_.clear();
    ticks_.reserve(ns.size());
    for (double one : ns) {
        ticks_.push_back(scale.ticks(one));
    }
}

const std::vector<u32>* KernelTable::rows_of(const Graph& graph) const {
    const auto at = graphs_.find(&graph);
    return at == graphs_.end() ? nullptr : &at->second.rows;
}

}  // namespace yantra
