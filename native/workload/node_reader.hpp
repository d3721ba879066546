// NodeReader: the attributes of one node, and where to report problems.
#pragma once

#include <cmath>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "trace/bounds.hpp"
#include "trace/communicates.hpp"
#include "trace/schema.hpp"
#include "workload/checks.hpp"
#include "workload/lowering.hpp"

namespace yantra {

struct NodeReader {
    const Graph& graph;
    const LowerOptions& options;
    std::vector<Problem>& problems;
    const std::vector<u32>* kernel_rows = nullptr;   // by node, where a table has kernel times
    // Then for all ranks; none: undefined.
    std::vector<u32> communicators;
    u32 node = 0;

    NodeType type() const { return static_cast<NodeType>(graph.type[node]); }

    void fail(std::string text) { problems.push_back({node, false, std::move(text)}); }
    void not_supported(std::string text) { problems.push_back({node, true, std::move(text)}); }

    // None if it is absent or no integer.
    [[gnu::always_inline]] std::optional<u64> integer(const IntColumn& column, const char* name,
                                                      bool required) {
        const IntColumn::Kind kind = column.kind_of(node);
        if (kind == IntColumn::integer) [[likely]] {
            return column.value[node];
        }
        if (required || kind == IntColumn::other) {
            not_an_integer(kind, name);
        }
        return std::nullopt;
    }
    [[gnu::noinline, gnu::cold]] void not_an_integer(IntColumn::Kind kind, const char* name) {
        fail(std::string("attribute '") + name +
             (kind == IntColumn::other ? "' is not an integer" : "' is missing"));
    }

    [[gnu::always_inline]] std::optional<u64> size(const IntColumn& column, const char* name, bool required) {
        const std::optional<u64> value = integer(column, name, required);
        if (value && !is_size(*value)) [[unlikely]] {
            below_zero(name, *value);
            return std::nullopt;
        }
        return value;
    }
    [[gnu::noinline, gnu::cold]] void below_zero(const char* name, u64 value) {
        fail("attribute '" + not_a_size(std::string(name) + "'", value));
    }

    u64 ticks(double ns) {
        if (std::isfinite(ns) && ns >= static_cast<double>(options.scale.longest_ns())) {
            fail("takes " + std::to_string(ns) + " ns; " + beyond(options.scale.longest_ns()));
            return 0;
        }
        return options.scale.ticks(ns);
    }

    bool is_on_cpu() {
        if (graph.is_cpu_op.kind_of(node) == IntColumn::absent) {
            return options.missing_is_cpu_op_means_cpu;
        }
        return integer(graph.is_cpu_op, "is_cpu_op", false).value_or(0) != 0;
    }
};

inline bool communicates(const NodeReader& reader) {
    return reader.options.kernels_may_communicate && communicates_at_recorded_time(reader.graph, reader.node);
}

inline void make_timed(Op& op, u64 ticks, bool counts_as_compute) {
    op.kind = OpKind::timed;
    op.ticks = ticks;
    op.busy_ticks = counts_as_compute ? ticks : 0;
}

inline void make_skipped(Op& op, bool wakes) {
    op.kind = OpKind::skip;
    op.wakes = wakes;
}

}  // namespace yantra
