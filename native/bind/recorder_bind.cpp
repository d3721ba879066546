// Python's view of TraceRecorder.
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/vector.h>

#include <bit>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/ensure.hpp"
#include "base/python_text.hpp"
#include "base/wire.hpp"
#include "bind/parts.hpp"
#include "bind/replay_facts.hpp"
#include "trace/trace.hpp"

namespace nb = nanobind;

namespace yantra {

namespace {

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

    // Other values are skipped.
    void attributes(nb::tuple names, nb::bytes kinds, nb::tuple values) {
        ensure(names.size() == values.size() && kinds.size() == values.size(),
               "trace: a name and a kind for each value");
        for (std::size_t place = 0; place < values.size(); ++place) {
            add_exact(names[place], kinds.c_str()[place], values[place]);
        }
    }

    // With the `.value` of the last object of that `.name`.
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
        has_metadata_ = true;
    }

    // Of the metadata until it ends, then of the next node. False, without effect, if invalid.
    bool foreign(nb::bytes fields) {
        const std::string_view bytes(fields.c_str(), fields.size());
        const bool is_of_node = has_metadata_;
        try {
            for (WireReader in(bytes); !in.at_end();) {
                const WireTag tag = in.tag();
                if (tag.field <= (is_of_node ? field::node_attribute : field::metadata_attribute)) {
                    return false;
                }
                in.skip(tag.type);
            }
        } catch (const TraceFault&) {
            return false;
        }
        trace_.add_foreign(is_of_node ? MessageKind::node : MessageKind::metadata,
                           is_of_node ? trace_.size() : 0, bytes);
        return true;
    }

    void io(bool outputs, std::string_view values, std::string_view shapes, std::string_view types) {
        const IoSide side = outputs ? IoSide::outputs : IoSide::inputs;
        ensure(trace_.io.empty() || trace_.io.back().record < trace_.size() ||
                   trace_.io.back().side < side,
               "trace: a node has its inputs once, then its outputs once");
        trace_.io.push_back({trace_.size(), side, trace_.add_text(values), trace_.add_text(shapes),
                             trace_.add_text(types)});
    }

    // From JSON of values, shapes and types; false, without effect, if that needs Python.
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

    // From node `begin` until `end` or the first special one; returns where it stopped.
    std::uint32_t replay(const ReplayFacts& facts, const replay::Nodes& nodes, std::uint32_t begin,
                         std::uint32_t end) {
        return replay::emit(facts, nodes, begin, end, trace_);
    }

    std::shared_ptr<Trace> finish() {
        trace_.sort_foreign();
        has_metadata_ = false;
        return std::make_shared<Trace>(std::exchange(trace_, {}));
    }

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

    // Only exactly a str, a bool, or an int of 64 bits.
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
    bool has_metadata_ = false;
    IoTexts texts_;
    std::vector<nb::object> found_;
    nb::str name_ = nb::str("name");
    nb::str value_ = nb::str("value");
    nb::str empty_ = nb::str("");
};

}  // namespace

void register_recorder(nb::module_& module) {
    nb::class_<TraceRecorder> recorder(module, "TraceRecorder", "Grows a Trace record by record.");
    recorder.def(nb::init<>());
    recorder.def("attribute", &TraceRecorder::attribute, nb::arg("name"), nb::arg("kind"),
                 nb::arg("value").none(), nb::arg("doc"),
                 nb::sig("def attribute(self, name: str, kind: int, value: object, doc: str) -> None"));
    recorder.def("attributes", &TraceRecorder::attributes, nb::arg("names"), nb::arg("kinds"),
                 nb::arg("values"),
                 nb::sig("def attributes(self, names: tuple[str, ...], kinds: bytes, "
                         "values: tuple[object, ...]) -> None"));
    recorder.def("attributes_of", &TraceRecorder::attributes_of, nb::arg("names"), nb::arg("kinds"),
                 nb::arg("objects"),
                 nb::sig("def attributes_of(self, names: tuple[str, ...], kinds: bytes, "
                         "objects: list[typing.Any]) -> None"));
    recorder.def("end_metadata", &TraceRecorder::end_metadata, nb::arg("version"));
    recorder.def("foreign", &TraceRecorder::foreign, nb::arg("fields"));
    recorder.def("io", &TraceRecorder::io, nb::arg("outputs"), nb::arg("values"), nb::arg("shapes"),
                 nb::arg("types"));
    recorder.def("io_json", &TraceRecorder::io_json, nb::arg("outputs"), nb::arg("json"));
    recorder.def("node", &TraceRecorder::node, nb::arg("id"), nb::arg("name"), nb::arg("type"),
                 nb::arg("start_micros"), nb::arg("duration_micros"), nb::arg("data_deps"),
                 nb::arg("ctrl_deps"));
    recorder.def("replay", &TraceRecorder::replay, nb::arg("facts"), nb::arg("nodes"), nb::arg("begin"),
                 nb::arg("end"));
    recorder.def("finish", &TraceRecorder::finish);
}

}  // namespace yantra
