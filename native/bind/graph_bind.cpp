// Python's view of Graph and of findings about traces: columns as read-only memoryviews.
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/vector.h>

#include <string_view>
#include <vector>

#include "bind/choices.hpp"
#include "bind/columns.hpp"
#include "bind/parts.hpp"
#include "trace/graph.hpp"

namespace nb = nanobind;

namespace yantra {

namespace {

void register_column_classes(nb::module_& module) {
    nb::class_<IntColumn> integers(module, "IntColumn", "An integer attribute by node; empty where none has it.");
    Choices<IntColumn::Kind>(integers, "Kind")
        .value("ABSENT", IntColumn::absent)
        .value("INTEGER", IntColumn::integer)
        .value("OTHER", IntColumn::other);
    column(integers, "kind", &IntColumn::kind);
    column(integers, "value", &IntColumn::value);
    nb::class_<TensorColumn> tensors(module, "TensorColumn", "The tensors of each node; empty where none has any.");
    Choices<TensorColumn::Kind>(tensors, "Kind")
        .value("ABSENT", TensorColumn::absent)
        .value("LIST", TensorColumn::list)
        .value("OTHER", TensorColumn::other);
    column(tensors, "kind", &TensorColumn::kind);
    column(tensors, "begin", &TensorColumn::begin);
    column(tensors, "tensor", &TensorColumn::tensor);
    column(tensors, "size_bytes", &TensorColumn::size_bytes);
}

void register_graph_class(nb::module_& module) {
    nb::class_<Graph> graph(module, "Graph", "A trace's dependency graph, nodes in ascending id.");
    graph.def("__len__", &Graph::size);
    column(graph, "id", &Graph::id);
    column(graph, "type", &Graph::type);
    column(graph, "duration_micros", &Graph::duration_micros);
    column(graph, "parent_count", &Graph::parent_count);
    column(graph, "parent_begin", &Graph::parent_begin);
    column(graph, "parent", &Graph::parent);
    column(graph, "child_begin", &Graph::child_begin);
    column(graph, "child", &Graph::child);
    column(graph, "file_order", &Graph::file_order);
    column(graph, "pg_name", &Graph::pg_name);
    graph.def_ro("pg_names", &Graph::pg_names);
    graph.def_ro("peer_names", &Graph::peer_names);
    column(graph, "involved_mask", &Graph::involved_mask);
    column(graph, "involved_len", &Graph::involved_len);
    graph.def_ro("tensor_names", &Graph::tensor_names);
    graph.def("name", [](const Graph& self, std::uint32_t node) {
        if (node >= self.size()) {
            throw nb::index_error("the graph has no such node");
        }
        return self.name(node);
    });
    graph.def_ro("diagnostics", &Graph::diagnostics);
    graph.def_prop_ro("has_errors", &Graph::has_errors);
    graph.def_ro("complete_order", &Graph::complete_order);
    graph.def_ro("is_cpu_op", &Graph::is_cpu_op)
        .def_ro("comm_type", &Graph::comm_type)
        .def_ro("comm_size", &Graph::comm_size)
        .def_ro("comm_priority", &Graph::comm_priority)
        .def_ro("comm_src", &Graph::comm_src)
        .def_ro("comm_dst", &Graph::comm_dst)
        .def_ro("comm_tag", &Graph::comm_tag)
        .def_ro("num_ops", &Graph::num_ops)
        .def_ro("tensor_size", &Graph::tensor_size)
        .def_ro("duration_ns", &Graph::duration_ns)
        .def_ro("inputs", &Graph::inputs)
        .def_ro("outputs", &Graph::outputs);
}

void register_diagnostic_class(nb::module_& module) {
    nb::class_<Diagnostic> diagnostic(module, "Diagnostic", "One finding about a trace.");
    diagnostic.def_prop_ro(
        "is_error", [](const Diagnostic& self) { return self.severity == Severity::error; });
    diagnostic.def_ro("code", &Diagnostic::code);
    diagnostic.def_ro("about_node", &Diagnostic::about_node);
    diagnostic.def_ro("node_id", &Diagnostic::node_id);
    diagnostic.def_ro("name", &Diagnostic::name);
    diagnostic.def_ro("byte_offset", &Diagnostic::byte_offset);
    diagnostic.def_ro("text", &Diagnostic::text);
    diagnostic.def_ro("left_out", &Diagnostic::left_out);
}

}  // namespace

void register_graph(nb::module_& module) {
    register_diagnostic_class(module);
    register_column_classes(module);
    register_graph_class(module);
}

}  // namespace yantra
