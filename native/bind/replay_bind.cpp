// Python's view of replay graphs.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>


#include "base/python_text.hpp"
#include "bind/arrays.hpp"
#include "bind/columns.hpp"
#include "bind/fields.hpp"
#include "bind/interruptible.hpp"
#include "bind/parts.hpp"
#include "bind/replay_facts.hpp"
#include "trace/replay/nodes.hpp"

namespace nb = nanobind;

namespace yantra {

namespace {

template <class Value>
std::span<const Value> named_column(const nb::dict& columns, const char* name) {
    return span_of(nb::cast<Array<Value>>(columns[name]));
}

// `columns` has each span's array, and outlives what is returned.
replay::Recorded recorded_of(const nb::dict& columns) {
    const auto wholes = [&](const char* name) { return named_column<std::int64_t>(columns, name); };
    const auto places = [&](const char* name) { return named_column<std::uint32_t>(columns, name); };
    return {
        .operators = {wholes("operator.id"), wholes("operator.tid"), wholes("operator.start"),
                      wholes("operator.dur"), places("operator.parent"), places("operator.name"),
                      places("operator.flags")},
        .ops = {wholes("op.id"), wholes("op.device"), wholes("op.stream"), wholes("op.start"), wholes("op.dur"),
                wholes("op.launch_tid"), wholes("op.launch_start"), wholes("op.launch_end"),
                wholes("op.correlation"), places("op.parent"), places("op.name"), places("op.launch_name"),
                places("op.flags"), places("op.first"), places("op.after")},
        .waits = {wholes("wait.tid"), wholes("wait.start"), wholes("wait.dur"), places("wait.op"),
                  places("wait.name"), places("wait.first"), places("wait.after")},
        .flows = {places("flow.source"), places("flow.target"), places("flow.kind")},
    };
}

replay::Nodes replay_graph(const nb::dict& columns, bool gaps, bool handover, bool anchors, std::uint32_t delay) {
    const replay::Recorded recorded = recorded_of(columns);
    const InterruptibleCall call;
    return replay::build(recorded, {gaps, handover, anchors, delay});
}

std::string_view utf8_of(nb::handle text) {
    Py_ssize_t size = 0;
    const char* const bytes = PyUnicode_AsUTF8AndSize(text.ptr(), &size);
    if (bytes == nullptr) {
        throw nb::python_error();
    }
    return {bytes, static_cast<std::size_t>(size)};
}

void take_attribute(ReplayFacts& facts, replay::OfOperator& into, std::string_view name, nb::handle value) {
    if (name == "op_schema") {
        into.schema = PyUnicode_CheckExact(value.ptr()) ? facts.texts.intern(utf8_of(value)) : replay::none;
        return;
    }
    const auto place = std::ranges::find(replay::host_numbers, name) - replay::host_numbers.begin();
    if (place == std::ssize(replay::host_numbers)) {
        return;
    }
    int beyond = 1;
    const bool is_whole = PyLong_CheckExact(value.ptr());
    const long long number = is_whole ? PyLong_AsLongLongAndOverflow(value.ptr(), &beyond) : 0;
    into.number[static_cast<std::size_t>(place)] = number;
    const auto bit = static_cast<std::uint8_t>(1 << place);
    into.known = static_cast<std::uint8_t>(beyond == 0 ? into.known | bit : into.known & ~bit);
}

// The `.value` of the last object of each `.name` that is an int of 64 bits, and of the schema, a str.
void add_operator(ReplayFacts& facts, const nb::list& attributes, std::optional<std::int64_t> num_ops,
                  bool is_metadata) {
    replay::OfOperator& added = facts.operators.at(facts.known_operators++);
    added.schema = facts.texts.intern("");
    added.counts = num_ops.has_value();
    added.num_ops = num_ops.value_or(0);
    added.is_metadata = is_metadata;
    for (nb::handle attribute : attributes) {
        const nb::object name = nb::getattr(attribute, "name");
        take_attribute(facts, added, utf8_of(name), nb::getattr(attribute, "value"));
    }
}

void set_tensors(ReplayFacts& facts, bool outputs, const std::string& texts) {
    replay::OfOperator& last = facts.operators.at(facts.known_operators - 1);
    (outputs ? last.outputs : last.inputs) = facts.tensors.intern(texts);
}

std::string joined(std::string_view values, std::string_view shapes, std::string_view types) {
    std::string texts(values);
    for (const std::string_view more : {shapes, types}) {
        texts += '\0';
        texts += more;
    }
    return texts;
}

// From JSON of values, shapes and types; none if that needs Python.
std::optional<std::uint32_t> tensor_of(ReplayFacts& facts, const nb::bytes& json) {
    IoTexts texts;
    if (!texts.read({json.c_str(), json.size()})) {
        return std::nullopt;
    }
    return facts.tensors.intern(joined(texts.values, texts.shapes, texts.types));
}

// As above, of an operator; false, without effect, if that needs Python.
bool add_tensors(ReplayFacts& facts, bool outputs, nb::handle json) {
    replay::OfOperator& last = facts.operators.at(facts.known_operators - 1);
    std::uint32_t& place = outputs ? last.outputs : last.inputs;
    if (const auto found = facts.seen.find(json.ptr()); found != facts.seen.end()) {
        place = found->second.second;
        return true;
    }
    Py_buffer buffer;
    if (PyObject_GetBuffer(json.ptr(), &buffer, PyBUF_SIMPLE) != 0) {
        throw nb::python_error();
    }
    IoTexts texts;
    const bool is_read = texts.read({static_cast<const char*>(buffer.buf), static_cast<std::size_t>(buffer.len)});
    PyBuffer_Release(&buffer);
    if (is_read) {
        set_tensors(facts, outputs, joined(texts.values, texts.shapes, texts.types));
        if (Py_REFCNT(json.ptr()) > 2) {  // one that recurs
            facts.seen.emplace(json.ptr(), std::pair(nb::borrow(json), place));
        }
    }
    return is_read;
}

std::uint32_t add_form(ReplayFacts& facts, const nb::tuple& names, const nb::bytes& kinds, const nb::tuple& values) {
    replay::Form& form = facts.forms.emplace_back();
    for (std::size_t at = 0; at < names.size(); ++at) {
        replay::Form::Item item{nb::cast<std::string>(names[at]), static_cast<AttributeKind>(kinds.c_str()[at]), 0, {}};
        if (item.kind == AttributeKind::string) {
            item.text = nb::cast<std::string>(values[at]);
        } else {
            item.value = static_cast<std::uint64_t>(nb::cast<std::int64_t>(values[at]));
        }
        form.items.push_back(std::move(item));
    }
    return static_cast<std::uint32_t>(facts.forms.size() - 1);
}

void add_device_op(ReplayFacts& facts, std::int64_t flops, std::optional<std::uint64_t> bytes, std::uint32_t form,
                   std::int32_t type, bool is_special) {
    replay::OfDeviceOp& added = facts.ops.at(facts.known_ops++);
    added.flops = flops;
    added.bytes = bytes.value_or(0);
    added.has_bytes = bytes.has_value();
    added.form = form;
    added.type = type;
    added.is_special = is_special;
}

// Communication: `parts` nodes that Python writes.
void becomes(ReplayFacts& facts, std::uint32_t op, std::int32_t type, std::uint32_t parts) {
    replay::OfDeviceOp& known = facts.ops.at(op);
    known.type = type;
    known.parts = parts;
    known.is_special = true;
}

nb::list ids_of(const ReplayFacts& facts, const replay::Nodes& nodes, std::uint32_t node) {
    nb::list ids;
    facts.each_dep(nodes, node, [&](std::uint64_t id) { ids.append(id); });
    return ids;
}

nb::list ctrl_of(const ReplayFacts& facts, const replay::Nodes& nodes, std::uint32_t node) {
    nb::list ids;
    if (nodes.ctrl[node] != replay::none) {
        ids.append(facts.id(nodes.ctrl[node]));
    }
    return ids;
}

void register_facts(nb::module_& module) {
    nb::class_<ReplayFacts> facts(module, "ReplayFacts", "What the nodes of a replay graph say beyond their times.");
    facts.def("__init__", [](ReplayFacts* self, const nb::dict& columns, std::vector<std::string> names) {
        new (self) ReplayFacts();
        self->begin(recorded_of(columns));
        self->names = std::move(names);
    }, nb::arg("columns"), nb::arg("names"),
              nb::sig("def __init__(self, columns: dict[str, typing.Any], names: list[str]) -> None"));
    facts.def("operator", &add_operator, nb::arg("attributes"), nb::arg("num_ops").none(), nb::arg("is_metadata"),
              nb::sig("def operator(self, attributes: list[typing.Any], num_ops: int | None, "
                      "is_metadata: bool) -> None"));
    facts.def("tensors", &add_tensors, nb::arg("outputs"), nb::arg("json"),
              "Of the operator added last.");
    facts.def("tensor_texts", [](ReplayFacts& self, bool outputs, std::string_view values, std::string_view shapes,
                                 std::string_view types) {
        set_tensors(self, outputs, joined(values, shapes, types));
    }, nb::arg("outputs"), nb::arg("values"), nb::arg("shapes"), nb::arg("types"));
    facts.def("tensor", &tensor_of, nb::arg("json"), "Its place; None if it needs Python.");
    facts.def("tensor_of", [](ReplayFacts& self, std::string_view values, std::string_view shapes,
                              std::string_view types) { return self.tensors.intern(joined(values, shapes, types)); },
              nb::arg("values"), nb::arg("shapes"), nb::arg("types"));
    facts.def("form", &add_form, nb::arg("names"), nb::arg("kinds"), nb::arg("values"),
              nb::sig("def form(self, names: tuple[str, ...], kinds: bytes, values: tuple[object, ...]) -> int"));
    facts.def("device_op", &add_device_op, nb::arg("flops"), nb::arg("bytes").none(), nb::arg("form"),
              nb::arg("type"), nb::arg("is_special"));
    facts.def("becomes", &becomes, nb::arg("op"), nb::arg("type"), nb::arg("parts"));
    facts.def("number", [](ReplayFacts& self, const replay::Nodes& nodes) {
        self.number(nodes);
        self.seen.clear();
    }, nb::arg("nodes"), "Call once all is added.");
    facts.def("id", [](const ReplayFacts& self, std::uint32_t node) { return self.id(node); }, nb::arg("node"));
    facts.def("deps", &ids_of, nb::arg("nodes"), nb::arg("node"),
              nb::sig("def deps(self, nodes: ReplayNodes, node: int) -> list[int]"));
    facts.def("ctrl", &ctrl_of, nb::arg("nodes"), nb::arg("node"),
              nb::sig("def ctrl(self, nodes: ReplayNodes, node: int) -> list[int]"));
    facts.def("timeline", [](const ReplayFacts& self, const replay::Nodes& nodes) {
        const InterruptibleCall call;
        return std::make_shared<Graph>(replay::timeline(self, nodes));
    }, nb::arg("nodes"));
}

nb::list deps_of(const replay::Nodes& nodes, std::uint32_t node) {
    nb::list deps;
    nodes.each_dep(node, [&](std::uint32_t on) { deps.append(on); });
    return deps;
}

}  // namespace

void register_replay(nb::module_& module) {
    Class<replay::Nodes> nodes(module, "ReplayNodes", "The nodes of a replay graph, in columns.");
    nodes.def("__len__", &replay::Nodes::size);
    nodes.def_prop_ro("kind", [](nb::handle self) {
        const auto& kind = nb::cast<const replay::Nodes&>(self).kind;
        return Column<std::uint8_t>(reinterpret_cast<const std::uint8_t*>(kind.data()), {kind.size()}, self);
    });
    nodes.column("source", &replay::Nodes::source);
    nodes.column("name", &replay::Nodes::name);
    nodes.column("ctrl", &replay::Nodes::ctrl);
    nodes.column("place", &replay::Nodes::place);
    nodes.column("place_device", &replay::Nodes::place_device);
    nodes.column("place_lane", &replay::Nodes::place_lane);
    nodes.column("start_us", &replay::Nodes::start_us);
    nodes.column("dur_us", &replay::Nodes::dur_us);
    nodes.column("start_ns", &replay::Nodes::start_ns);
    nodes.column("dur_ns", &replay::Nodes::dur_ns);
    nodes.column("operator_node", &replay::Nodes::operator_node);
    nodes.column("device_node", &replay::Nodes::device_node);
    nodes.field("handovers", &replay::Nodes::handovers);
    nodes.field("anchored", &replay::Nodes::anchored);
    nodes.field("shifted", &replay::Nodes::shifted);
    nodes.def("deps", &deps_of, nb::arg("node"), nb::sig("def deps(self, node: int) -> list[int]"));
    nodes.def("depend", [](replay::Nodes& self, std::uint32_t node, const std::vector<std::uint32_t>& on) {
        auto& more = self.more[node];
        more.insert(more.end(), on.begin(), on.end());
    }, nb::arg("node"), nb::arg("on"), "Add dependencies to a node.");
    nodes.def("replace_deps", [](replay::Nodes& self, const std::vector<std::vector<std::uint32_t>>& deps) {
        self.more.clear();
        self.dep.clear();
        self.end.assign(1, 0);
        for (const std::vector<std::uint32_t>& one : deps) {
            self.dep.insert(self.dep.end(), one.begin(), one.end());
            self.end.push_back(self.dep.size());
        }
    }, nb::arg("deps"), "Of all nodes.");
    register_facts(module);
    module.def("replay_graph", &replay_graph, nb::arg("columns"), nb::kw_only(), nb::arg("gaps"),
               nb::arg("handover"), nb::arg("anchors"), nb::arg("delay"),
               nb::sig("def replay_graph(columns: dict[str, typing.Any], *, gaps: bool, handover: bool, "
                       "anchors: bool, delay: int) -> ReplayNodes"));
}

}  // namespace yantra
