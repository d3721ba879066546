// Python's view of Trace: counts, rows as plain objects, columns as memoryviews.
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <bit>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "base/ensure.hpp"
#include "base/wire.hpp"
#include "bind/choices.hpp"
#include "bind/columns.hpp"
#include "bind/fields.hpp"
#include "bind/interruptible.hpp"
#include "bind/parts.hpp"
#include "trace/alike.hpp"
#include "trace/tools/check.hpp"
#include "trace/decode.hpp"
#include "trace/tools/encode.hpp"
#include "trace/graph.hpp"
#include "trace/known_files.hpp"
#include "trace/launches.hpp"
#include "trace/tools/relative.hpp"
#include "trace/trace.hpp"
#include "trace/usual.hpp"

namespace nb = nanobind;

namespace yantra {

namespace {

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

template <typename Value>
nb::bytes bytes_of(const std::vector<Value>& values) {
    return nb::bytes(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(Value));
}

// By record, of the last attribute of this name: its 64 bits; and 0 if there is none or it is no
// integer, 1 if it is, 2 if it is above the signed ones.
nb::tuple integers(const Trace& trace, std::string_view name) {
    std::vector<std::uint64_t> values(trace.size());
    std::vector<std::uint8_t> kinds(trace.size());
    const std::uint32_t wanted = trace.attribute_names.find(name);
    for (std::size_t record = 0; wanted != Interner::absent && record < trace.size(); ++record) {
        for (const Attribute& attribute : trace.attributes_of(record)) {
            if (attribute.name == wanted) {
                const bool whole = is_integer(attribute.kind) && attribute.kind != AttributeKind::boolean;
                const bool above = !is_signed(attribute.kind) && attribute.value >> 63U != 0;
                kinds[record] = static_cast<std::uint8_t>(whole ? (above ? 2 : 1) : 0);
                values[record] = whole ? attribute.value : 0;
            }
        }
    }
    return nb::make_tuple(bytes_of(values), bytes_of(kinds));
}

// The different texts of this name, and by record which one the last attribute of the name has, or
// -1 if there is none or it is no text.
nb::tuple texts(const Trace& trace, std::string_view name) {
    Interner found;
    std::vector<std::int32_t> places(trace.size(), -1);
    const std::uint32_t wanted = trace.attribute_names.find(name);
    for (std::size_t record = 0; wanted != Interner::absent && record < trace.size(); ++record) {
        for (const Attribute& attribute : trace.attributes_of(record)) {
            if (attribute.name == wanted) {
                const bool is_string = attribute.kind == AttributeKind::string;
                places[record] =
                    is_string ? static_cast<std::int32_t>(found.intern(trace.text_of(attribute))) : -1;
            }
        }
    }
    nb::list names;
    for (const std::string& one : found.names()) {
        names.append(text(one));
    }
    return nb::make_tuple(names, bytes_of(places));
}

nb::object io_tuple(const Trace& trace, std::size_t record, IoSide side) {
    const IoInfo* io = trace.io_of(record, side);
    if (io == nullptr) {
        return nb::none();
    }
    return nb::make_tuple(text(trace.view(io->values)), text(trace.view(io->shapes)),
                          text(trace.view(io->types)));
}

nb::bytes foreign(const Trace& trace, MessageKind of, std::uint64_t number) {
    std::string all;
    for (const ForeignFields& piece : trace.foreign_of(of, number)) {
        all.append(trace.view(piece.bytes));
    }
    return nb::bytes(all.data(), all.size());
}

nb::list ids(std::span<const std::uint64_t> values) {
    nb::list out;
    for (const std::uint64_t value : values) {
        out.append(value);
    }
    return out;
}

nb::bytes encode_trace(const Trace& trace) {
    std::string bytes;
    {
        const InterruptibleCall call;
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
    const InterruptibleWork work(bytes.size());
    return std::make_shared<Trace>(decode(bytes, Reading::everything, asked));
}

std::shared_ptr<Graph> decode_graph(const nb::bytes& source, bool merge_duplicates, bool tensors,
                                    bool kernels, bool collectives_in_order,
                                    const Launches* launches) {
    const std::string_view bytes(source.c_str(), source.size());
    const InterruptibleWork work(bytes.size());
    if (!tensors && !collectives_in_order && launches == nullptr) {
        UsualRoom room;
        if (std::shared_ptr<Graph> graph = usual_graph(bytes, kernels, room)) {
            return graph;
        }
    }
    Trace trace = decode(bytes, (tensors ? Reading::execution_and_tensors : Reading::execution) |
                                    (kernels ? Reading::execution_and_kernels : Reading::execution) |
                                    (launches ? Reading::execution_and_passes : Reading::execution));
    if (collectives_in_order) {
        trace = with_collectives_in_order(trace);
    }
    if (launches != nullptr) {
        trace = with_launches(trace, *launches);
    }
    return std::make_shared<Graph>(build_graph(trace, merge_duplicates, kernels));
}

std::shared_ptr<Graph> graph_of(const Trace& trace, bool merge_duplicates, bool kernels,
                                const Launches* launches) {
    const InterruptibleCall call;
    if (launches != nullptr) {
        return std::make_shared<Graph>(
            build_graph(with_launches(trace, *launches), merge_duplicates, kernels));
    }
    return std::make_shared<Graph>(build_graph(trace, merge_duplicates, kernels));
}

std::vector<Diagnostic> check_trace(const Trace& trace, const Graph& graph) {
    const nb::gil_scoped_release unlocked;
    return check(trace, graph);
}

void register_trace_class(nb::module_& module) {
    Class<Trace> trace(module, "Trace", "One rank's Chakra trace as columns, in file order.");
    trace.def("__len__", &Trace::size);
    trace.column("id", &Trace::id);
    trace.column("type", &Trace::type);
    trace.column("start_micros", &Trace::start_micros);
    trace.column("duration_micros", &Trace::duration_micros);
    trace.column("byte_offset", &Trace::byte_offset);
    trace.def("name", [](const Trace& self, std::size_t record) {
        return text(self.name(checked(self, record)));
    }, nb::arg("record"), nb::sig("def name(self, record: int) -> str"));
    trace.def("data_deps", [](const Trace& self, std::size_t record) {
        return ids(self.data_deps(checked(self, record)));
    }, nb::arg("record"), nb::sig("def data_deps(self, record: int) -> list[int]"));
    trace.def("ctrl_deps", [](const Trace& self, std::size_t record) {
        return ids(self.ctrl_deps(checked(self, record)));
    }, nb::arg("record"), nb::sig("def ctrl_deps(self, record: int) -> list[int]"));
    trace.def("attributes", [](const Trace& self, std::size_t record) {
        return attribute_list(self, self.attributes_of(checked(self, record)));
    }, nb::arg("record"), nb::sig("def attributes(self, record: int) -> list[AttributeRow]"));
    trace.def_prop_ro("data_edges", [](const Trace& self) { return self.data_dep.size(); });
    trace.def_prop_ro("control_edges", [](const Trace& self) { return self.ctrl_dep.size(); });
    trace.def("integers", &integers, nb::arg("name"),
              nb::sig("def integers(self, name: str) -> tuple[bytes, bytes]"));
    trace.def("texts", &texts, nb::arg("name"),
              nb::sig("def texts(self, name: str) -> tuple[list[str], bytes]"));
    trace.def("inputs", [](const Trace& self, std::size_t record) {
        return io_tuple(self, checked(self, record), IoSide::inputs);
    }, nb::arg("record"), nb::sig("def inputs(self, record: int) -> IoTexts | None"));
    trace.def("outputs", [](const Trace& self, std::size_t record) {
        return io_tuple(self, checked(self, record), IoSide::outputs);
    }, nb::arg("record"), nb::sig("def outputs(self, record: int) -> IoTexts | None"));
    trace.def("foreign", [](const Trace& self, std::size_t record) {
        return foreign(self, MessageKind::node, checked(self, record));
    }, nb::arg("record"), nb::sig("def foreign(self, record: int) -> bytes"));
    trace.def_prop_ro("metadata_foreign", [](const Trace& self) {
        return foreign(self, MessageKind::metadata, 0);
    });
    trace.def_prop_ro("version", [](const Trace& self) { return text(self.version); });
    trace.def_prop_ro("layout", [](const Trace& self) { return layout_name(self.layout); });
    trace.def_prop_ro("metadata", [](const Trace& self) {
        return attribute_list(self, self.metadata_attributes());
    }, nb::sig("def metadata(self) -> list[AttributeRow]"));
    trace.def("encode", &encode_trace);
    trace.def("check", &check_trace, nb::arg("graph"));
    trace.def("graph", &graph_of, nb::arg("merge_duplicates") = false, nb::arg("kernels") = false,
              nb::arg("launches").none() = nb::none());
}

std::vector<std::string> names_of(const std::vector<nb::bytes>& paths) {
    std::vector<std::string> names;
    names.reserve(paths.size());
    for (const nb::bytes& path : paths) {
        names.emplace_back(path.c_str(), path.size());
    }
    return names;
}

void register_files(nb::module_& module) {
    module.def("count_alike", [](const std::vector<nb::bytes>& paths, const nb::bytes& content) {
        const std::vector<std::string> names = names_of(paths);
        const std::string_view bytes(content.c_str(), content.size());
        const nb::gil_scoped_release without_lock;
        return count_alike(names, bytes);
    }, nb::arg("paths"), nb::arg("content"));
    module.def("content_hash", [](const nb::bytes& content) {
        const nb::gil_scoped_release without_lock;
        return hash_of({content.c_str(), content.size()});
    }, nb::arg("content"));
    nb::class_<KnownFiles>(module, "KnownFiles", "The trace files of ranks: equal ones have one number.")
        .def(nb::init<>())
        .def("read", [](KnownFiles& self, const nb::bytes& prefix, std::uint64_t first, std::uint64_t count,
                        std::size_t most_bytes, bool kernels) {
            const std::string before(prefix.c_str(), prefix.size());
            KnownFiles::Read read;
            if (before.find('\0') == std::string::npos) {
                const InterruptibleCall call;
                read = self.read(before, first, count, most_bytes, kernels);
            }
            return std::make_tuple(std::move(read.numbers), std::move(read.graphs), std::move(read.ranks));
        }, nb::arg("prefix"), nb::arg("first"), nb::arg("count"), nb::arg("most_bytes"), nb::arg("kernels"))
        .def("alike", [](const KnownFiles& self, std::uint64_t hash) {
            std::vector<std::tuple<std::uint32_t, nb::bytes, std::optional<nb::bytes>>> found;
            for (const KnownFiles::Known& known : self.alike(hash)) {
                found.emplace_back(known.number, nb::bytes(known.path.data(), known.path.size()),
                                   known.kept ? std::optional(nb::bytes(known.kept->data(), known.kept->size()))
                                              : std::nullopt);
            }
            return found;
        }, nb::arg("hash"))
        .def("add", [](KnownFiles& self, std::uint64_t hash, const nb::bytes& path,
                       const std::optional<nb::bytes>& kept) {
            return self.add(hash, std::string(path.c_str(), path.size()),
                            kept ? std::optional(std::string(kept->c_str(), kept->size())) : std::nullopt);
        }, nb::arg("hash"), nb::arg("path"), nb::arg("kept").none());
}

}  // namespace

void register_trace(nb::module_& module) {
    nb::exception<TraceFault>(module, "TraceFault");
    Choices<Launches::Of>(module, "LaunchOf")
        .value("KERNEL", Launches::Of::kernel)
        .value("PASS", Launches::Of::pass)
        .value("JOB", Launches::Of::job);
    nb::class_<Launches>(module, "Launches", "What the host of a rank launches, and how long it takes.")
        .def("__init__", [](Launches* self, std::uint64_t ns, Launches::Of of) {
            new (self) Launches{ns, of};
        }, nb::kw_only(), nb::arg("ns"), nb::arg("of"));
    register_trace_class(module);
    module.def("decode_trace", &decode_bytes, nb::arg("source"), nb::arg("layout") = "");
    module.def("decode_graph", &decode_graph, nb::arg("source"), nb::arg("merge_duplicates"),
               nb::arg("tensors"), nb::arg("kernels") = false,
               nb::arg("collectives_in_order") = false, nb::arg("launches").none() = nb::none());
    register_files(module);
}

}  // namespace yantra
