// Python's view of Trace and Graph: counts, rows as plain objects, columns as read-only memoryviews.
//
// Trade-off: columns are shared with the core and not copied; each memoryview keeps its owner alive.
// Nothing here needs numpy, but numpy.asarray() of a column is free.
#include "bind/trace_bind.hpp"

#include <nanobind/ndarray.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/vector.h>

#include <bit>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/ensure.hpp"
#include "base/python_text.hpp"
#include "base/wire.hpp"
#include "trace/check.hpp"
#include "trace/decode.hpp"
#include "trace/encode.hpp"
#include "trace/graph.hpp"
#include "trace/relative.hpp"
#include "trace/trace.hpp"

namespace nb = nanobind;

namespace yantra {

namespace {

template <typename Value>
using Column = nb::ndarray<nb::memview, const Value, nb::ndim<1>>;

template <typename Value, typename Owner>
Column<Value> view(const std::vector<Value>& values, const Owner& owner) {
    return Column<Value>(values.data(), {values.size()}, nb::find(owner));
}

// A read-only property that shows the vector `member` of the class.
template <typename Class, typename Owner, typename Value>
void column(Class& in, const char* name, std::vector<Value> Owner::* member) {
    in.def_prop_ro(name, [member](const Owner& self) { return view(self.*member, self); });
}

nb::str text(std::string_view piece) { return nb::str(piece.data(), piece.size()); }

nb::object number(AttributeKind kind, std::uint64_t bits) {
    switch (kind) {
        case AttributeKind::double_: return nb::float_(std::bit_cast<double>(bits));
        case AttributeKind::float_:
            return nb::float_(double{std::bit_cast<float>(static_cast<std::uint32_t>(bits))});
        case AttributeKind::boolean: return nb::bool_(bits != 0);
        case AttributeKind::int32:
        case AttributeKind::int64:
        case AttributeKind::sint32:
        case AttributeKind::sint64:
        case AttributeKind::sfixed32:
        case AttributeKind::sfixed64: return nb::int_(static_cast<std::int64_t>(bits));
        default: return nb::int_(bits);
    }
}

nb::object piece(AttributeKind kind, std::string_view bytes) {
    if (element_kind(kind) == AttributeKind::bytes) {
        return nb::bytes(bytes.data(), bytes.size());
    }
    return text(bytes);
}

nb::object value_of(const Trace& trace, const Attribute& attribute) {
    const AttributeKind kind = attribute.kind;
    if (kind == AttributeKind::none) {
        return nb::none();
    }
    if (!is_list(kind)) {
        return is_text(kind) ? piece(kind, trace.text_of(attribute)) : number(kind, attribute.value);
    }
    nb::list values;
    if (is_text(kind)) {
        for (const Text& item : trace.texts_of(attribute)) {
            values.append(piece(kind, trace.view(item)));
        }
    } else {
        for (const std::uint64_t bits : trace.numbers_of(attribute)) {
            values.append(number(element_kind(kind), bits));
        }
    }
    return values;
}

// [(name, kind, value, doc), …]
nb::list attribute_list(const Trace& trace, std::span<const Attribute> attributes) {
    nb::list rows;
    for (const Attribute& attribute : attributes) {
        rows.append(nb::make_tuple(text(trace.attribute_name(attribute)),
                                   static_cast<int>(attribute.kind), value_of(trace, attribute),
                                   text(trace.doc_of(attribute))));
    }
    return rows;
}

nb::object io_tuple(const Trace& trace, std::size_t record, IoSide side) {
    const IoInfo* io = trace.io_of(record, side);
    if (io == nullptr) {
        return nb::none();
    }
    return nb::make_tuple(text(trace.view(io->values)), text(trace.view(io->shapes)),
                          text(trace.view(io->types)));
}

nb::list ids(std::span<const std::uint64_t> values) {
    nb::list out;
    for (const std::uint64_t value : values) {
        out.append(value);
    }
    return out;
}

std::uint64_t bits_of(AttributeKind kind, nb::handle value) {
    switch (kind) {
        case AttributeKind::double_: return std::bit_cast<std::uint64_t>(nb::cast<double>(value));
        case AttributeKind::float_:
            return std::bit_cast<std::uint32_t>(static_cast<float>(nb::cast<double>(value)));
        case AttributeKind::boolean: return nb::cast<bool>(value) ? 1 : 0;
        case AttributeKind::int32:
        case AttributeKind::int64:
        case AttributeKind::sint32:
        case AttributeKind::sint64:
        case AttributeKind::sfixed32:
        case AttributeKind::sfixed64:
            return static_cast<std::uint64_t>(nb::cast<std::int64_t>(value));
        default: return nb::cast<std::uint64_t>(value);
    }
}

std::string_view bytes_of(AttributeKind kind, nb::handle value) {
    if (element_kind(kind) == AttributeKind::bytes) {
        const auto bytes = nb::cast<nb::bytes>(value);
        return {bytes.c_str(), bytes.size()};
    }
    return nb::cast<std::string_view>(value);
}

// Grows a Trace from Python records; the Python side has checked kinds and ranges.
class TraceRecorder {
public:
    void attribute(std::string_view name, int kind_number, nb::handle value, std::string_view doc) {
        ensure(kind_number == 0 || (kind_number >= 3 && kind_number <= 32), "trace: no such kind");
        Attribute& out = trace_.add_attribute();
        out.name = trace_.attribute_names.intern(name);
        out.kind = static_cast<AttributeKind>(kind_number);
        trace_.set_doc(doc);
        if (is_list(out.kind)) {
            fill_list(out, value);
        } else if (is_text(out.kind)) {
            const Text added = trace_.add_text(bytes_of(out.kind, value));
            out.value = added.begin;
            out.count = narrow(added.size);
        } else if (out.kind != AttributeKind::none) {
            out.value = bits_of(out.kind, value);
        }
    }

    // An attribute for each value that is of its kind; any other value adds none.
    void attributes(nb::tuple names, nb::bytes kinds, nb::tuple values) {
        ensure(names.size() == values.size() && kinds.size() == values.size(),
               "trace: a name and a kind for each value");
        for (std::size_t place = 0; place < values.size(); ++place) {
            add_exact(names[place], kinds.c_str()[place], values[place]);
        }
    }

    // As attributes(), with the `.value` of the last object that has such a `.name`; a text that
    // none has is empty.
    void attributes_of(nb::tuple names, nb::bytes kinds, nb::list objects) {
        ensure(kinds.size() == names.size(), "trace: a kind for each name");
        found_.clear();
        for (const char kind : std::string_view(kinds.c_str(), kinds.size())) {
            const bool is_string = static_cast<AttributeKind>(kind) == AttributeKind::string;
            found_.push_back(is_string ? nb::object(empty_) : nb::object(nb::none()));
        }
        for (nb::handle object : objects) {
            const nb::object name = nb::getattr(object, name_);
            const std::string_view wanted = utf8(name);
            for (std::size_t place = 0; place < names.size(); ++place) {
                if (utf8(names[place]) == wanted) {
                    found_[place] = nb::getattr(object, value_);
                    break;
                }
            }
        }
        for (std::size_t place = 0; place < names.size(); ++place) {
            add_exact(names[place], kinds.c_str()[place], found_[place]);
        }
    }

    void end_metadata(const std::string& version) {
        trace_.version = version;
        trace_.add_metadata();
    }

    void io(bool outputs, std::string_view values, std::string_view shapes, std::string_view types) {
        const IoSide side = outputs ? IoSide::outputs : IoSide::inputs;
        ensure(trace_.io.empty() || trace_.io.back().record < trace_.size() ||
                   trace_.io.back().side < side,
               "trace: a node has its inputs once, then its outputs once");
        trace_.io.push_back({trace_.size(), side, trace_.add_text(values), trace_.add_text(shapes),
                             trace_.add_text(types)});
    }

    // As io(), from the JSON of {"values": […], "shapes": […], "types": […]}, as Python writes lists;
    // false, and nothing is added, where that takes Python itself.
    bool io_json(bool outputs, nb::handle json) {
        Py_buffer buffer;
        if (PyObject_GetBuffer(json.ptr(), &buffer, PyBUF_SIMPLE) != 0) {
            throw nb::python_error();
        }
        const bool found = texts_.read({static_cast<const char*>(buffer.buf),
                                        static_cast<std::size_t>(buffer.len)});
        PyBuffer_Release(&buffer);
        if (found) {
            io(outputs, texts_.values, texts_.shapes, texts_.types);
        }
        return found;
    }

    void node(std::uint64_t id, std::string_view name, std::int32_t type,
              std::uint64_t start_micros, std::uint64_t duration_micros,
              const std::vector<std::uint64_t>& data_deps,
              const std::vector<std::uint64_t>& ctrl_deps) {
        trace_.data_dep.insert(trace_.data_dep.end(), data_deps.begin(), data_deps.end());
        trace_.ctrl_dep.insert(trace_.ctrl_dep.end(), ctrl_deps.begin(), ctrl_deps.end());
        trace_.add_node({id, name, type, start_micros, duration_micros, 0});
    }

    std::shared_ptr<Trace> finish() { return std::make_shared<Trace>(std::exchange(trace_, {})); }

private:
    static std::uint32_t narrow(std::size_t count) {
        ensure(count <= 0x7fffffff, "trace: an attribute value is longer than a record can be");
        return static_cast<std::uint32_t>(count);
    }

    static std::string_view utf8(nb::handle text) {
        Py_ssize_t size = 0;
        const char* const bytes = PyUnicode_AsUTF8AndSize(text.ptr(), &size);
        if (bytes == nullptr) {
            throw nb::python_error();
        }
        return {bytes, static_cast<std::size_t>(size)};
    }

    void add_exact(nb::handle name, char kind, nb::handle value) {
        Attribute found{};
        found.kind = static_cast<AttributeKind>(kind);
        if (fill_exact(found, value)) {
            found.name = trace_.attribute_names.intern(utf8(name));
            trace_.add_attribute() = found;
            trace_.set_doc({});
        }
    }

    // Sets the value if it is exactly of the kind: a str, a bool, or an int that fits 64 bits.
    bool fill_exact(Attribute& out, nb::handle value) {
        PyObject* const object = value.ptr();
        if (out.kind == AttributeKind::string) {
            if (!PyUnicode_CheckExact(object)) {
                return false;
            }
            const Text added = trace_.add_text(utf8(value));
            out.value = added.begin;
            out.count = narrow(added.size);
            return true;
        }
        if (out.kind == AttributeKind::boolean) {
            out.value = object == Py_True ? 1 : 0;
            return PyBool_Check(object);
        }
        ensure(out.kind == AttributeKind::int64 || out.kind == AttributeKind::uint64,
               "trace: a kind that attributes() does not write");
        return PyLong_CheckExact(object) && fill_whole(out, object);
    }

    static bool fill_whole(Attribute& out, PyObject* number) {
        if (out.kind == AttributeKind::int64) {
            int beyond = 0;
            out.value = static_cast<std::uint64_t>(PyLong_AsLongLongAndOverflow(number, &beyond));
            return beyond == 0;
        }
        out.value = PyLong_AsUnsignedLongLong(number);
        if (PyErr_Occurred() != nullptr) {
            PyErr_Clear();
            return false;
        }
        return true;
    }

    void fill_list(Attribute& out, nb::handle values) {
        out.value = is_text(out.kind) ? trace_.texts.size() : trace_.numbers.size();
        for (nb::handle value : nb::iter(values)) {
            if (is_text(out.kind)) {
                trace_.texts.push_back(trace_.add_text(bytes_of(out.kind, value)));
            } else {
                trace_.numbers.push_back(bits_of(element_kind(out.kind), value));
            }
            out.count = narrow(std::size_t{out.count} + 1);
        }
    }

    Trace trace_;
    IoTexts texts_;
    std::vector<nb::object> found_;
    nb::str name_ = nb::str("name");
    nb::str value_ = nb::str("value");
    nb::str empty_ = nb::str("");
};

nb::bytes encode_trace(const Trace& trace) {
    std::string bytes;
    {
        const nb::gil_scoped_release unlocked;
        bytes = encode(trace);
    }
    return nb::bytes(bytes.data(), bytes.size());
}

std::size_t checked(const Trace& trace, std::size_t record) {
    if (record >= trace.size()) {
        throw nb::index_error("the trace has no such record");
    }
    return record;
}

std::optional<Layout> layout_of(std::string_view name) {
    for (int number = 0; number <= static_cast<int>(Layout::today); ++number) {
        if (name == layout_name(static_cast<Layout>(number))) {
            return static_cast<Layout>(number);
        }
    }
    ensure(name.empty(), "trace: no such layout");
    return std::nullopt;
}

std::shared_ptr<Trace> decode_bytes(const nb::bytes& source, std::string_view layout) {
    const std::string_view bytes(source.c_str(), source.size());
    const std::optional<Layout> asked = layout_of(layout);
    const nb::gil_scoped_release unlocked;
    return std::make_shared<Trace>(decode(bytes, Reading::everything, asked));
}

// Decodes what a run needs and resolves it; the records are not kept.
std::shared_ptr<Graph> decode_graph(const nb::bytes& source, bool merge_duplicates, bool tensors,
                                    bool collectives_in_order) {
    const std::string_view bytes(source.c_str(), source.size());
    const nb::gil_scoped_release unlocked;
    Trace trace = decode(bytes, tensors ? Reading::execution_and_tensors : Reading::execution);
    if (collectives_in_order) {
        trace = with_collectives_in_order(trace);
    }
    return std::make_shared<Graph>(build_graph(trace, merge_duplicates));
}

std::shared_ptr<Graph> graph_of(const Trace& trace, bool merge_duplicates) {
    const nb::gil_scoped_release unlocked;
    return std::make_shared<Graph>(build_graph(trace, merge_duplicates));
}

std::vector<Diagnostic> check_trace(const Trace& trace, const Graph& graph) {
    const nb::gil_scoped_release unlocked;
    return check(trace, graph);
}

void register_trace_class(nb::module_& module) {
    nb::class_<Trace> trace(module, "Trace", "One rank's Chakra trace as columns, in file order.");
    trace.def("__len__", &Trace::size);
    column(trace, "id", &Trace::id);
    column(trace, "type", &Trace::type);
    column(trace, "start_micros", &Trace::start_micros);
    column(trace, "duration_micros", &Trace::duration_micros);
    column(trace, "byte_offset", &Trace::byte_offset);
    trace.def("name", [](const Trace& self, std::size_t record) {
        return text(self.name(checked(self, record)));
    });
    trace.def("data_deps", [](const Trace& self, std::size_t record) {
        return ids(self.data_deps(checked(self, record)));
    });
    trace.def("ctrl_deps", [](const Trace& self, std::size_t record) {
        return ids(self.ctrl_deps(checked(self, record)));
    });
    trace.def("attributes", [](const Trace& self, std::size_t record) {
        return attribute_list(self, self.attributes_of(checked(self, record)));
    });
    trace.def("inputs", [](const Trace& self, std::size_t record) {
        return io_tuple(self, checked(self, record), IoSide::inputs);
    });
    trace.def("outputs", [](const Trace& self, std::size_t record) {
        return io_tuple(self, checked(self, record), IoSide::outputs);
    });
    trace.def_prop_ro("version", [](const Trace& self) { return text(self.version); });
    trace.def_prop_ro("layout", [](const Trace& self) { return layout_name(self.layout); });
    trace.def_prop_ro("metadata", [](const Trace& self) {
        return attribute_list(self, self.metadata_attributes());
    });
    trace.def("encode", &encode_trace);
    trace.def("check", &check_trace, nb::arg("graph"));
    trace.def("graph", &graph_of, nb::arg("merge_duplicates") = false);
}

// Integer attributes as graph.comm_size == (kinds, values); both empty when no node has it.
void register_integer_columns(nb::class_<Graph>& graph) {
    const auto add = [&graph](const char* name, IntColumn Graph::* member) {
        graph.def_prop_ro(name, [member](const Graph& self) {
            const IntColumn& of = self.*member;
            return nb::make_tuple(view(of.kind, self), view(of.value, self));
        });
    };
    add("is_cpu_op", &Graph::is_cpu_op);
    add("comm_type", &Graph::comm_type);
    add("comm_size", &Graph::comm_size);
    add("comm_priority", &Graph::comm_priority);
    add("comm_src", &Graph::comm_src);
    add("comm_dst", &Graph::comm_dst);
    add("comm_tag", &Graph::comm_tag);
    add("num_ops", &Graph::num_ops);
    add("tensor_size", &Graph::tensor_size);
    add("duration_ns", &Graph::duration_ns);
}

// Tensor lists as (kinds, begin, tensor, size_bytes).
void register_tensor_columns(nb::class_<Graph>& graph) {
    const auto add = [&graph](const char* name, TensorColumn Graph::* member) {
        graph.def_prop_ro(name, [member](const Graph& self) {
            const TensorColumn& of = self.*member;
            return nb::make_tuple(view(of.kind, self), view(of.begin, self), view(of.tensor, self),
                                  view(of.size_bytes, self));
        });
    };
    add("inputs", &Graph::inputs);
    add("outputs", &Graph::outputs);
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
        return text(self.name(node));
    });
    graph.def_ro("diagnostics", &Graph::diagnostics);
    graph.def_prop_ro("has_errors", &Graph::has_errors);
    register_integer_columns(graph);
    register_tensor_columns(graph);
}

void register_diagnostic_class(nb::module_& module) {
    nb::class_<Diagnostic> diagnostic(module, "Diagnostic", "One finding about a trace.");
    diagnostic.def_prop_ro(
        "is_error", [](const Diagnostic& self) { return self.severity == Severity::error; });
    diagnostic.def_ro("code", &Diagnostic::code);
    diagnostic.def_ro("about_node", &Diagnostic::about_node);
    diagnostic.def_ro("node_id", &Diagnostic::node_id);
    diagnostic.def_prop_ro("name", [](const Diagnostic& self) { return text(self.name); });
    diagnostic.def_ro("byte_offset", &Diagnostic::byte_offset);
    diagnostic.def_prop_ro("text", [](const Diagnostic& self) { return text(self.text); });
    diagnostic.def_ro("left_out", &Diagnostic::left_out);
}

void register_recorder_class(nb::module_& module) {
    nb::class_<TraceRecorder> recorder(module, "TraceRecorder", "Grows a Trace record by record.");
    recorder.def(nb::init<>());
    recorder.def("attribute", &TraceRecorder::attribute, nb::arg("name"), nb::arg("kind"),
                 nb::arg("value").none(), nb::arg("doc"));
    recorder.def("attributes", &TraceRecorder::attributes);
    recorder.def("attributes_of", &TraceRecorder::attributes_of);
    recorder.def("end_metadata", &TraceRecorder::end_metadata);
    recorder.def("io", &TraceRecorder::io);
    recorder.def("io_json", &TraceRecorder::io_json);
    recorder.def("node", &TraceRecorder::node);
    recorder.def("finish", &TraceRecorder::finish);
}

}  // namespace

void register_trace(nb::module_& module) {
    nb::exception<TraceFault>(module, "TraceFault");
    register_diagnostic_class(module);
    register_graph_class(module);
    register_trace_class(module);
    register_recorder_class(module);
    module.def("decode_trace", &decode_bytes, nb::arg("source"), nb::arg("layout") = "");
    module.def("decode_graph", &decode_graph, nb::arg("source"), nb::arg("merge_duplicates"),
               nb::arg("tensors"), nb::arg("collectives_in_order") = false);
}

}  // namespace yantra
