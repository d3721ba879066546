// Builds a Graph, in linear time (except sorting) and iteratively.
#include "trace/graph.hpp"

#include <algorithm>
#include <charconv>
#include <cstring>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "base/ensure.hpp"
#include "base/interruption.hpp"
#include "base/wire.hpp"
#include "trace/cycle.hpp"
#include "trace/graph_parts.hpp"
#include "trace/id_index.hpp"
#include "trace/node_order.hpp"
#include "trace/roles.hpp"

namespace yantra {

namespace {

std::uint32_t narrow(std::size_t count) { return static_cast<std::uint32_t>(count); }

std::optional<std::uint64_t> whole_number(std::string_view digits) {
    std::uint64_t value = 0;
    const char* const end = digits.data() + digits.size();
    const auto [stop, error] = std::from_chars(digits.data(), end, value);
    if (error != std::errc() || (stop != end && *stop != '.')) {
        return std::nullopt;
    }
    const bool fraction_is_digits =
        stop == end ||
        std::all_of(stop + 1, end, [](char digit) { return digit >= '0' && digit <= '9'; });
    return fraction_is_digits ? std::optional(value) : std::nullopt;
}

class Builder {
public:
    Builder(const Trace& trace, bool merge_duplicates, bool kernels)
        : trace_(trace), merge_duplicates_(merge_duplicates), kernels_(kernels) {}

    Graph run() {
        if (trace_.size() > max_count || trace_.data_dep.size() > max_count ||
            trace_.ctrl_dep.size() > max_count - trace_.data_dep.size()) {
            throw TraceFault(0, "more than 4,294,967,294 nodes or dependencies in one trace");
        }
        order_ = order_nodes(trace_);
        bodies();
        names();
        duplicates();
        file_order();
        parents();
        add_children(graph_);
        attributes();
        cycles();
        graph_.diagnostics = std::move(findings_).take();
        return std::move(graph_);
    }

private:
    std::uint32_t size() const { return order_.nodes(); }

    void bodies() {
        std::vector<std::uint64_t>& id = graph_.id.own();
        std::vector<std::int32_t>& type = graph_.type.own();
        std::vector<std::uint64_t>& duration_micros = graph_.duration_micros.own();
        id.resize(size());
        type.resize(size());
        duration_micros.resize(size());
        for (std::uint32_t node = 0; node < size(); ++node) {
            const std::uint32_t record = order_.last(node);
            id[node] = trace_.id[record];
            type[node] = trace_.type[record];
            duration_micros[node] = trace_.duration_micros[record];
        }
    }

    void names() {
        NamePool pool(graph_, size());
        for (std::uint32_t node = 0; node < size(); ++node) {
            pool.add(trace_.name(order_.last(node)));
        }
    }

    void duplicates() {
        if (size() == trace_.size()) {
            return;
        }
        for (std::uint32_t node = 0; node < size(); ++node) {
            const std::size_t times = order_.records_of(node).size();
            if (times > 1) {
                report(merge_duplicates_ ? Severity::warning : Severity::error, "duplicate-id", node,
                       [&] {
                           return "the id is defined " + std::to_string(times) +
                                  " times; ids must be unique within a trace";
                       });
            }
        }
    }

    void file_order() {
        std::vector<std::uint32_t>& order = graph_.file_order.own();
        order.reserve(size());
        for (std::uint32_t record = 0; record < trace_.size(); ++record) {
            const std::uint32_t node = order_.node_of_record[record];
            if (order_.first(node) == record) {
                order.push_back(node);
            }
        }
    }

    void parents() {
        std::vector<std::uint32_t> table;
        const IdIndex index(graph_.id, table);
        std::vector<std::uint32_t> seen(size(), 0);  // node + 1 that last took this parent
        std::vector<std::uint32_t>& begin = graph_.parent_begin.own();
        std::vector<std::uint32_t>& parents = graph_.parent.own();
        std::vector<std::uint32_t>& count = graph_.parent_count.own();
        begin.reserve(size() + 1U);
        begin.push_back(0);
        parents.reserve(trace_.data_dep.size() + trace_.ctrl_dep.size());
        count.resize(size());
        const auto take = [&](std::uint32_t node, std::span<const std::uint64_t> ids,
                              const char* kind) {
            for (const std::uint64_t id : ids) {
                const std::uint32_t parent = index.find(id);
                if (parent == IdIndex::absent) {
                    dangling(node, id, kind);
                } else if (seen[parent] != node + 1) {
                    seen[parent] = node + 1;
                    parents.push_back(parent);
                }
            }
        };
        for (std::uint32_t node = 0; node < size(); ++node) {
            look_up();
            for (const std::uint32_t record : order_.records_of(node)) {
                take(node, trace_.data_deps(record), "data");
                take(node, trace_.ctrl_deps(record), "control");
            }
            begin.push_back(narrow(parents.size()));
            count[node] = begin[node + 1] - begin[node];
        }
    }

    void dangling(std::uint32_t node, std::uint64_t id, const char* kind) {
        report(Severity::error, "dangling-dependency", node, [&] {
            return "its " + std::string(kind) + " dependency " + std::to_string(id) +
                   " names no node of this trace";
        });
    }

    void attributes() {
        graph_.pg_name.own().assign(size(), Graph::group_absent);
        learn_roles();
        for (std::uint32_t node = 0; node < size(); ++node) {
            look_up();
            for (const Attribute& attribute : trace_.attributes_of(order_.last(node))) {
                lift(node, attribute);
            }
            close_tensors(graph_.inputs, node);
            close_tensors(graph_.outputs, node);
        }
        graph_.pg_names = std::move(groups_).take();
        graph_.peer_names = std::move(peers_).take();
        graph_.tensor_names = std::move(tensors_).take();
        graph_.op_classes = std::move(op_classes_).take();
        graph_.dtypes = std::move(dtypes_).take();
        graph_.phases = std::move(phases_).take();
    }

    void learn_roles() {
        for (const std::string& name : trace_.attribute_names.names()) {
            roles_.push_back(role_of(name, graph_, kernels_));
        }
    }

    void lift(std::uint32_t node, const Attribute& attribute) {
        const auto& [role, column] = roles_[attribute.name];
        switch (role) {
            case Role::none:
            case Role::recorded:
            case Role::part:
            case Role::communication: return;
            case Role::integer: integer(node, attribute, *column); return;
            case Role::mark: mark(node, attribute, *column); return;
            case Role::group: name(node, attribute, graph_.pg_name, groups_); return;
            case Role::peer: label(node, attribute, graph_.comm_peer, peers_); return;
            case Role::involved: involved(node, attribute); return;
            case Role::inputs: tensors(node, attribute, graph_.inputs); return;
            case Role::outputs: tensors(node, attribute, graph_.outputs); return;
            case Role::op_class: label(node, attribute, graph_.op_class, op_classes_); return;
            case Role::dtype: label(node, attribute, graph_.dtype, dtypes_); return;
            case Role::phase: label(node, attribute, graph_.phase, phases_); return;
        }
    }

    void integer(std::uint32_t node, const Attribute& attribute, OwnColumn column) {
        if (column.empty()) [[unlikely]] {
            column.make(size());
        }
        std::uint8_t& kind = (*column.kind)[node];
        if (kind != IntColumn::absent) {
            return;
        }
        if (is_integer(attribute.kind)) [[likely]] {
            kind = IntColumn::integer;
            (*column.value)[node] = attribute.value;
        } else {
            kind = IntColumn::other;
            wrong_kind(node, attribute, "an integer or bool");
        }
    }

    void mark(std::uint32_t node, const Attribute& attribute, OwnColumn column) {
        if (is_text(attribute.kind) && !is_list(attribute.kind)) {
            column.mark(node, size());
        }
    }

    void label(std::uint32_t node, const Attribute& attribute, SharedVector<std::int32_t>& labelled,
               Interner& names) {
        if (labelled.empty()) {
            labelled.own().assign(size(), Graph::group_absent);
        }
        name(node, attribute, labelled, names);
    }

    void name(std::uint32_t node, const Attribute& attribute, SharedVector<std::int32_t>& named,
              Interner& names) {
        std::vector<std::int32_t>& column = named.own();
        if (column[node] != Graph::group_absent) {
            return;
        }
        if (is_text(attribute.kind) && !is_list(attribute.kind)) {
            column[node] = static_cast<std::int32_t>(names.intern(trace_.text_of(attribute)));
        } else {
            column[node] = Graph::group_other;
            wrong_kind(node, attribute, "a string");
        }
    }

    void involved(std::uint32_t node, const Attribute& attribute) {
        std::vector<std::uint8_t>& length = graph_.involved_len.own();
        std::vector<std::uint64_t>& mask = graph_.involved_mask.own();
        if (length.empty()) {
            length.assign(size(), 0);
            mask.assign(size(), 0);
        }
        if (length[node] != 0) {
            return;
        }
        const bool fits = attribute.count > 0 && attribute.count <= 64;
        if (attribute.kind != AttributeKind::boolean_list || !fits) {
            length[node] = Graph::involved_other;
            wrong_kind(node, attribute, "a bool_list of 1 to 64 entries");
            return;
        }
        length[node] = static_cast<std::uint8_t>(attribute.count);
        const std::span<const std::uint64_t> flags = trace_.numbers_of(attribute);
        for (std::size_t i = 0; i < flags.size(); ++i) {
            mask[node] |= flags[i] << i;
        }
    }

    void tensors(std::uint32_t node, const Attribute& attribute, TensorColumn& column) {
        std::vector<std::uint8_t>& kind = column.kind.own();
        if (kind.empty()) {
            kind.assign(size(), TensorColumn::absent);
            column.begin.own().assign(size() + 1U, 0);
        }
        if (kind[node] != TensorColumn::absent) {
            return;
        }
        if (attribute.kind == AttributeKind::none) {
            kind[node] = TensorColumn::list;  // how some generators write an empty list
            return;
        }
        kind[node] = TensorColumn::other;
        if (attribute.kind != AttributeKind::string_list) {
            wrong_kind(node, attribute, "a string_list");
        } else if (add_tensors(trace_.texts_of(attribute), column)) {
            kind[node] = TensorColumn::list;
        } else {
            report(Severity::warning, "attribute-value", node, [&] {
                return "attribute " + trace_.attribute_name(attribute) +
                       " must alternate tensor names and sizes in bytes";
            });
        }
    }

    bool add_tensors(std::span<const Text> pieces, TensorColumn& column) {
        std::vector<std::uint64_t> sizes;
        for (std::size_t i = 1; i < pieces.size(); i += 2) {
            const std::optional<std::uint64_t> size_bytes = whole_number(trace_.view(pieces[i]));
            if (!size_bytes) {
                return false;
            }
            sizes.push_back(*size_bytes);
        }
        if (pieces.size() != sizes.size() * 2) {
            return false;
        }
        std::vector<std::uint32_t>& tensors = column.tensor.own();
        std::vector<std::uint64_t>& size_bytes = column.size_bytes.own();
        for (std::size_t i = 0; i < sizes.size(); ++i) {
            tensors.push_back(tensors_.intern(trace_.view(pieces[2 * i])));
            size_bytes.push_back(sizes[i]);
        }
        if (tensors.size() > max_count) {
            throw TraceFault(0, "more than 4,294,967,294 tensors in one trace");
        }
        return true;
    }

    static void close_tensors(TensorColumn& column, std::uint32_t node) {
        if (!column.begin.empty()) {
            column.begin.own()[node + 1] = narrow(column.tensor.size());
        }
    }

    void wrong_kind(std::uint32_t node, const Attribute& attribute, const char* expected) {
        report(Severity::warning, "attribute-type", node, [&] {
            const std::string count =
                is_list(attribute.kind) ? " of " + std::to_string(attribute.count) + " entries" : "";
            return "attribute " + trace_.attribute_name(attribute) + " must be " + expected +
                   ", not " + kind_name(attribute.kind) + count;
        });
    }

    void cycles() {
        const CycleReport report_of = find_cycle(graph_);
        if (report_of.cycle.empty()) {
            return;
        }
        report(Severity::error, "cycle", report_of.cycle.front(),
               [&] { return describe(report_of, graph_); });
    }

    template <typename Words>
    void report(Severity severity, const char* code, std::uint32_t node, const Words& words) {
        if (findings_.has_room(code)) {
            findings_.add({severity, code, graph_.id[node], std::string(graph_.name(node)),
                           trace_.byte_offset[order_.last(node)], words()});
        }
    }

    const Trace& trace_;
    bool merge_duplicates_;
    bool kernels_;
    Graph graph_;
    NodeOrder order_;
    DiagnosticList findings_;
    std::vector<AttributeRole> roles_;  // by attribute name index
    Interner groups_;
    Interner peers_;
    Interner op_classes_;
    Interner dtypes_;
    Interner phases_;
    Interner tensors_;
};

}  // namespace

std::string_view Graph::name(std::uint32_t node) const {
    ensure(node < size(), "graph: no such node");
    return name_there(name_at[node]);
}

std::string_view Graph::name_there(std::uint32_t at) const {
    std::uint32_t length = 0;
    std::memcpy(&length, name_bytes.data() + at, sizeof(length));
    return {name_bytes.data() + at + sizeof(length), length};
}

bool Graph::has_errors() const {
    return std::any_of(diagnostics.begin(), diagnostics.end(), [](const Diagnostic& finding) {
        return finding.severity == Severity::error;
    });
}

bool says_complete_order(const Trace& trace) {
    return std::ranges::any_of(trace.metadata_attributes(), [&](const Attribute& item) {
        return item.kind == AttributeKind::boolean && item.value != 0 &&
               trace.attribute_name(item) == complete_order_name;
    });
}

Graph build_graph(const Trace& trace, bool merge_duplicates, bool kernels) {
    Graph graph = Builder(trace, merge_duplicates, kernels).run();
    graph.complete_order = says_complete_order(trace);
    return graph;
}

}  // namespace yantra
