// Python's view of Graph and findings: columns as read-only memoryviews.
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/vector.h>

#include <string_view>

#include "bind/choices.hpp"
#include "bind/fields.hpp"
#include "bind/interruptible.hpp"
#include "bind/parts.hpp"
#include "trace/communicates.hpp"
#include "trace/graph.hpp"
#include "trace/tools/paths.hpp"

namespace nb = nanobind;

namespace yantra {

namespace {

void register_column_classes(nb::module_& module) {
    Class<IntColumn> integers(module, "IntColumn", "An integer attribute by node; empty where none has it.");
    Choices<IntColumn::Kind>(integers, "Kind")
        .value("ABSENT", IntColumn::absent)
        .value("INTEGER", IntColumn::integer)
        .value("OTHER", IntColumn::other);
    integers.column("kind", &IntColumn::kind);
    integers.column("value", &IntColumn::value);
    Class<TensorColumn> tensors(module, "TensorColumn", "The tensors of each node; empty where none has any.");
    Choices<TensorColumn::Kind>(tensors, "Kind")
        .value("ABSENT", TensorColumn::absent)
        .value("LIST", TensorColumn::list)
        .value("OTHER", TensorColumn::other);
    tensors.column("kind", &TensorColumn::kind);
    tensors.column("begin", &TensorColumn::begin);
    tensors.column("tensor", &TensorColumn::tensor);
    tensors.column("size_bytes", &TensorColumn::size_bytes);
}

nb::bytes packed(const std::vector<std::uint32_t>& nodes) {
    return nb::bytes(reinterpret_cast<const char*>(nodes.data()), nodes.size() * sizeof(std::uint32_t));
}

// Nodes (32 bits each), halves of the time in us, depth, width, and nodes left out.
nb::tuple longest_path_of(const Graph& graph) {
    LongestPath path;
    {
        const InterruptibleCall call;
        path = longest_path(graph);
    }
    return nb::make_tuple(packed(path.nodes), path.micros.high, path.micros.low, path.depth, path.width,
                          path.left_out);
}

nb::bytes issue_order_of(const Graph& graph) {
    std::vector<std::uint32_t> order;
    {
        const InterruptibleCall call;
        order = issue_order(graph);
    }
    return packed(order);
}

void register_graph_class(nb::module_& module) {
    Class<Graph> graph(module, "Graph", "A trace's dependency graph, nodes in ascending id.");
    graph.def("__len__", &Graph::size);
    graph.column("id", &Graph::id);
    graph.column("type", &Graph::type);
    graph.column("duration_micros", &Graph::duration_micros);
    graph.column("parent_count", &Graph::parent_count);
    graph.column("parent_begin", &Graph::parent_begin);
    graph.column("parent", &Graph::parent);
    graph.column("child_begin", &Graph::child_begin);
    graph.column("child", &Graph::child);
    graph.column("file_order", &Graph::file_order);
    graph.column("pg_name", &Graph::pg_name);
    graph.field("pg_names", &Graph::pg_names);
    graph.field("peer_names", &Graph::peer_names);
    graph.column("involved_mask", &Graph::involved_mask);
    graph.column("involved_len", &Graph::involved_len);
    graph.field("tensor_names", &Graph::tensor_names);
    graph.def("name", [](const Graph& self, std::uint32_t node) {
        if (node >= self.size()) {
            throw nb::index_error("the graph has no such node");
        }
        return self.name(node);
    });
    graph.def("communicates", [](const Graph& self, std::uint32_t node) {
        if (node >= self.size()) {
            throw nb::index_error("the graph has no such node");
        }
        return communicates_at_recorded_time(self, node);
    });
    graph.column("name_at", &Graph::name_at);
    graph.def("longest_path", &longest_path_of,
              nb::sig("def longest_path(self) -> tuple[bytes, int, int, int, int, int]"));
    graph.def("issue_order", &issue_order_of);
    graph.field("diagnostics", &Graph::diagnostics);
    graph.def_prop_ro("has_errors", &Graph::has_errors);
    graph.field("complete_order", &Graph::complete_order);
    graph.field("is_cpu_op", &Graph::is_cpu_op)
        .field("comm_type", &Graph::comm_type)
        .field("comm_size", &Graph::comm_size)
        .field("comm_priority", &Graph::comm_priority)
        .field("comm_src", &Graph::comm_src)
        .field("comm_dst", &Graph::comm_dst)
        .field("comm_tag", &Graph::comm_tag)
        .field("num_ops", &Graph::num_ops)
        .field("tensor_size", &Graph::tensor_size)
        .field("duration_ns", &Graph::duration_ns)
        .field("inputs", &Graph::inputs)
        .field("outputs", &Graph::outputs);
}

void register_diagnostic_class(nb::module_& module) {
    Class<Diagnostic> diagnostic(module, "Diagnostic", "One finding about a trace.");
    diagnostic.def_prop_ro(
        "is_error", [](const Diagnostic& self) { return self.severity == Severity::error; });
    diagnostic.field("code", &Diagnostic::code);
    diagnostic.field("about_node", &Diagnostic::about_node);
    diagnostic.field("node_id", &Diagnostic::node_id);
    diagnostic.field("name", &Diagnostic::name);
    diagnostic.field("byte_offset", &Diagnostic::byte_offset);
    diagnostic.field("text", &Diagnostic::text);
    diagnostic.field("left_out", &Diagnostic::left_out);
}

}  // namespace

void register_graph(nb::module_& module) {
    register_diagnostic_class(module);
    register_column_classes(module);
    register_graph_class(module);
}

}  // namespace yantra
