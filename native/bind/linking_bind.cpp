// Python's view of what links recordings: readers, nesting, linked traces from columns, their text.
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/vector.h>

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "bind/arrays.hpp"
#include "bind/columns.hpp"
#include "bind/interruptible.hpp"
#include "bind/parts.hpp"
#include "trace/linking/host_file.hpp"
#include "trace/linking/kineto_file.hpp"
#include "trace/replay/linked_file.hpp"
#include "trace/linking/linked_text.hpp"
#include "trace/linking/nesting.hpp"

namespace nb = nanobind;

namespace yantra {

namespace {

using linking::HostFile;
using linking::KinetoFile;
using replay::LinkedFile;
using linking::LinkedText;
using Numbers = Array<std::int64_t>;
using Places = Array<std::uint32_t>;

nb::list as_bytes(const std::vector<std::string>& texts) {
    nb::list list;
    for (const std::string& one : texts) {
        list.append(nb::bytes(one.data(), one.size()));
    }
    return list;
}

template <class File>
bool feed(File& file, const nb::bytes& list) {
    const std::string_view text(list.c_str(), list.size());
    const InterruptibleWork work(text.size());
    return file.feed(text);
}

class Columns {
public:
    explicit Columns(nb::handle owner) : owner_(owner) {}
    template <class Value>
    Columns& add(const char* name, const std::vector<Value>& values) {
        found_[name] = Column<Value>(values.data(), {values.size()}, owner_);
        return *this;
    }
    nb::dict take() { return std::move(found_); }

private:
    nb::handle owner_;
    nb::dict found_;
};

nb::dict columns_of_host(nb::handle self) {
    const auto& file = nb::cast<const HostFile&>(self);
    Columns columns(self);
    columns.add("id", file.id).add("parent", file.parent).add("rf_id", file.rf_id).add("tid", file.tid);
    columns.add("fw_tid", file.fw_tid).add("seq_id", file.seq_id).add("scope", file.scope);
    columns.add("name", file.name).add("layout", file.layout).add("inputs", file.inputs);
    columns.add("outputs", file.outputs).add("numbers", file.numbers).add("first", file.first);
    return columns.take();
}

nb::dict columns_of_events(nb::handle self, std::size_t kind) {
    const auto& table = nb::cast<const KinetoFile&>(self).tables[kind];
    Columns columns(self);
    columns.add("start", table.start).add("end", table.end).add("pid", table.pid).add("tid", table.tid);
    columns.add("name", table.name).add("cat", table.cat).add("place", table.index).add("id", table.id);
    columns.add("external", table.external).add("rf_id", table.rf_id).add("seq_id", table.seq_id);
    columns.add("correlation", table.correlation).add("stream", table.stream).add("device", table.device);
    columns.add("size", table.bytes).add("shapes", table.shapes);
    return columns.take();
}

nb::dict arguments_of_events(const KinetoFile& file, std::size_t kind) {
    const auto& table = file.tables[kind];
    nb::dict found;
    for (std::size_t at = 0; at < table.args.size(); ++at) {
        found[nb::int_(table.with_args[at])] = nb::bytes(table.args[at].data(), table.args[at].size());
    }
    return found;
}

nb::list counted(const Interner& what, const std::vector<std::uint64_t>& counts) {
    nb::list found;
    for (std::size_t at = 0; at < counts.size(); ++at) {
        const std::string& name = what.names()[at];
        found.append(nb::make_tuple(nb::bytes(name.data(), name.size()), counts[at]));
    }
    return found;
}

linking::Spans spans_of(const Numbers& start, const Numbers& end, const Numbers& lane, const Numbers& external) {
    return {span_of(start), span_of(end), span_of(lane), span_of(external)};
}

nb::object moved(std::vector<std::int64_t>&& values) {
    using Kept = std::vector<std::int64_t>;
    auto kept = std::make_unique<Kept>(std::move(values));
    const Kept& column = *kept;
    const nb::capsule owner(kept.release(), [](void* one) noexcept { std::unique_ptr<Kept>(static_cast<Kept*>(one)); });
    return nb::cast(Column<std::int64_t>(column.data(), {column.size()}, owner));
}

template <class Value>
void fill(std::vector<Value>& into, const nb::dict& columns, const char* name) {
    const auto values = nb::cast<Array<Value>>(columns[name]);
    into.assign(values.data(), values.data() + values.size());
}

void fill(Interner& into, const nb::list& texts) {
    for (nb::handle one : texts) {
        const auto text = nb::cast<nb::bytes>(one);
        into.intern({text.c_str(), text.size()});
    }
}

void fill_comms(std::vector<std::uint32_t>& places, std::vector<std::string>& texts, const nb::dict& comms) {
    for (const auto& [place, text] : comms) {
        const auto json = nb::cast<nb::bytes>(text);
        places.push_back(nb::cast<std::uint32_t>(place));
        texts.emplace_back(json.c_str(), json.size());
    }
}

void fill_operators(LinkedFile& file, const nb::dict& columns) {
    auto& all = file.operators;
    fill(all.id, columns, "id");
    fill(all.host_id, columns, "host_id");
    fill(all.tid, columns, "tid");
    fill(all.start, columns, "start");
    fill(all.dur, columns, "dur");
    fill(all.exclusive, columns, "exclusive");
    fill(all.parent, columns, "parent");
    fill(all.name, columns, "name");
    fill(all.layout, columns, "layout");
    fill(all.inputs, columns, "inputs");
    fill(all.outputs, columns, "outputs");
    const auto first = nb::cast<Array<std::uint64_t>>(columns["first"]);
    const auto numbers = nb::cast<Numbers>(columns["numbers"]);
    const auto holes = nb::cast<Places>(columns["holes"]);
    all.numbers.reserve(numbers.size());
    all.first.reserve(first.size() + 1);
    for (std::size_t at = 0; at < first.size(); ++at) {
        const std::int64_t* const begin = numbers.data() + first.data()[at];
        all.numbers.insert(all.numbers.end(), begin, begin + holes.data()[all.layout[at]]);
        all.first.push_back(all.numbers.size());
    }
}

void fill_ops(LinkedFile& file, const nb::dict& columns) {
    auto& all = file.ops;
    fill(all.id, columns, "id");
    fill(all.device, columns, "device");
    fill(all.stream, columns, "stream");
    fill(all.start, columns, "start");
    fill(all.dur, columns, "dur");
    fill(all.launch_tid, columns, "launch_tid");
    fill(all.launch_start, columns, "launch_start");
    fill(all.launch_end, columns, "launch_end");
    fill(all.correlation, columns, "correlation");
    fill(all.bytes, columns, "bytes");
    fill(all.parent, columns, "parent");
    fill(all.name, columns, "name");
    fill(all.cat, columns, "cat");
    fill(all.launch_name, columns, "launch_name");
    fill(all.group, columns, "group");
    fill(all.after, columns, "after");
    fill(all.first, columns, "first");
    fill(all.is_launched, columns, "is_launched");
}

void register_readers(nb::module_& module) {
    nb::class_<HostFile> host(module, "HostFile", "A host trace in columns.");
    host.def(nb::init<>());
    host.def("feed", &feed<HostFile>, nb::arg("nodes"),
             "Takes a list of nodes; false if they are not as the observer writes them.");
    host.def("finish", &HostFile::finish, "Sorts the nodes by id.");
    host.def("columns", &columns_of_host, nb::sig("def columns(self) -> dict[str, memoryview]"));
    host.def("names", [](const HostFile& self) { return as_bytes(self.names.names()); },
             nb::sig("def names(self) -> list[bytes]"));
    host.def("layouts", [](const HostFile& self) { return as_bytes(self.layouts.names()); },
             nb::sig("def layouts(self) -> list[bytes]"));
    host.def("tensors", [](const HostFile& self) { return as_bytes(self.tensors.names()); },
             nb::sig("def tensors(self) -> list[bytes]"));

    nb::class_<KinetoFile> file(module, "KinetoFile", "A profiler's trace in columns, a table a kind.");
    file.def("__init__", [](KinetoFile* self, const nb::dict& kinds, std::vector<std::string> call_endings,
                            std::string flow_phases, std::string flow_category, bool has_shapes) {
        new (self) KinetoFile();
        for (const auto& [category, kind] : kinds) {
            self->categories[nb::cast<std::string>(category)] = static_cast<KinetoFile::Kind>(nb::cast<int>(kind));
        }
        self->call_endings = std::move(call_endings);
        self->flow_phases = std::move(flow_phases);
        self->flow_category = std::move(flow_category);
        self->has_shapes = has_shapes;
    }, nb::arg("kinds"), nb::arg("call_endings"), nb::arg("flow_phases"), nb::arg("flow_category"),
       nb::arg("has_shapes"),
       nb::sig("def __init__(self, kinds: dict[str, int], call_endings: typing.Sequence[str], "
               "flow_phases: str, flow_category: str, has_shapes: bool) -> None"));
    file.attr("NO_NUMBER") = linking::no_number;
    file.def("feed", &feed<KinetoFile>, nb::arg("events"),
             "Takes a list of events; false if one needs a look at the whole file.");
    file.def("finish", &KinetoFile::finish, "Sorts the events of each kind by time; false if another way must tell their times.");
    file.def("columns", &columns_of_events, nb::arg("kind"),
             nb::sig("def columns(self, kind: int) -> dict[str, memoryview]"));
    file.def("arguments", &arguments_of_events, nb::arg("kind"),
             nb::sig("def arguments(self, kind: int) -> dict[int, bytes]"));
    file.def("names", [](const KinetoFile& self) { return as_bytes(self.names.names()); },
             nb::sig("def names(self) -> list[bytes]"));
    file.def("shapes", [](const KinetoFile& self) { return as_bytes(self.shapes.names()); },
             nb::sig("def shapes(self) -> list[bytes]"));
    file.def("aside", [](const KinetoFile& self) { return counted(self.aside_categories, self.aside_counts); },
             nb::sig("def aside(self) -> list[tuple[bytes, int]]"));
    file.def("phases", [](const KinetoFile& self) { return counted(self.phases, self.phase_counts); },
             nb::sig("def phases(self) -> list[tuple[bytes, int]]"));
    file.def_ro("events", &KinetoFile::events);
    file.def_ro("flow_ends", &KinetoFile::flow_ends);
    file.def_ro("steps_of_flows", &KinetoFile::steps_of_flows);
}

}  // namespace

void register_linking(nb::module_& module) {
    register_readers(module);
    module.def("enclosing", [](const Numbers& start, const Numbers& end, const Numbers& lane) {
        return moved(linking::enclosing({span_of(start), span_of(end), span_of(lane), {}}));
    }, nb::arg("start"), nb::arg("end"), nb::arg("lane"),
       nb::sig("def enclosing(start: typing.Any, end: typing.Any, lane: typing.Any) -> memoryview"));
    module.def("nest", [](const Numbers& start, const Numbers& end, const Numbers& lane, const Numbers& external,
                          const Numbers& call_start, const Numbers& call_lane, const Numbers& call_external) {
        auto found = linking::nest(spans_of(start, end, lane, external),
                                  spans_of(call_start, call_start, call_lane, call_external));
        return nb::make_tuple(moved(std::move(found.exclusive)), moved(std::move(found.owner)));
    }, nb::arg("start"), nb::arg("end"), nb::arg("lane"), nb::arg("external"), nb::arg("call_start"),
       nb::arg("call_lane"), nb::arg("call_external"),
       nb::sig("def nest(start: typing.Any, end: typing.Any, lane: typing.Any, external: typing.Any, "
               "call_start: typing.Any, call_lane: typing.Any, call_external: typing.Any) "
               "-> tuple[memoryview, memoryview]"));
    module.def("stream_order", [](const Numbers& start, const Numbers& end, const Numbers& lane) {
        auto found = linking::stream_order({span_of(start), span_of(end), span_of(lane), {}});
        return nb::make_tuple(moved(std::move(found.after)), found.overlaps);
    }, nb::arg("start"), nb::arg("end"), nb::arg("lane"),
       nb::sig("def stream_order(start: typing.Any, end: typing.Any, lane: typing.Any) "
               "-> tuple[memoryview, int]"));
    module.def("linked_of", [](const nb::dict& operators, const nb::dict& ops, const nb::list& names,
                               const nb::list& layouts, const nb::list& tensors, const nb::dict& operator_comm,
                               const nb::dict& op_comm) {
        LinkedFile file;
        fill(file.names, names);
        fill(file.layouts, layouts);
        fill(file.tensors, tensors);
        fill_operators(file, operators);
        fill_ops(file, ops);
        fill_comms(file.operators_with_comm, file.operator_comm, operator_comm);
        fill_comms(file.ops_with_comm, file.op_comm, op_comm);
        return file;
    }, nb::arg("operators"), nb::arg("ops"), nb::arg("names"), nb::arg("layouts"), nb::arg("tensors"),
       nb::arg("operator_comm"), nb::arg("op_comm"),
       nb::sig("def linked_of(operators: dict[str, typing.Any], ops: dict[str, typing.Any], names: list[bytes], "
               "layouts: list[bytes], tensors: list[bytes], operator_comm: dict[int, bytes], "
               "op_comm: dict[int, bytes]) -> LinkedFile"));
    nb::class_<LinkedText> text(module, "LinkedText", "The nodes of a linked trace as JSON, in pieces.");
    text.def("__init__", [](LinkedText* self, const LinkedFile& file, std::int64_t origin_ns, const Numbers& sources) {
        new (self) LinkedText(file, origin_ns, span_of(sources));
    }, nb::arg("file"), nb::arg("origin_ns"), nb::arg("sources"), nb::keep_alive<1, 2>(), nb::keep_alive<1, 4>(),
       nb::sig("def __init__(self, file: LinkedFile, origin_ns: int, sources: typing.Any) -> None"));
    text.def("next", [](LinkedText& self) {
        const std::string piece = self.next();
        return nb::bytes(piece.data(), piece.size());
    }, "Some nodes more; empty at the end.");
}

}  // namespace yantra
