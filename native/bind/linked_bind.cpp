// Python's view of files of linked traces.
#include <nanobind/stl/string_view.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "bind/arrays.hpp"
#include "bind/columns.hpp"
#include "bind/fields.hpp"
#include "bind/interruptible.hpp"
#include "bind/parts.hpp"
#include "bind/replay_facts.hpp"
#include "trace/replay/linked_file.hpp"

namespace nb = nanobind;

namespace yantra {

namespace {

nb::list json_texts(const std::vector<std::string>& texts) {
    nb::list list;
    for (const std::string& one : texts) {
        list.append(nb::bytes(one.data(), one.size()));
    }
    return list;
}

nb::dict columns_of_file(nb::handle self) {
    const auto& file = nb::cast<const replay::LinkedFile&>(self);
    nb::dict columns;
    const auto add = [&]<class Value>(const char* name, const std::vector<Value>& values) {
        columns[name] = Column<Value>(values.data(), {values.size()}, self);
    };
    const auto& operators = file.operators;
    add("operator.id", operators.id);
    add("operator.host_id", operators.host_id);
    add("operator.tid", operators.tid);
    add("operator.start", operators.start);
    add("operator.dur", operators.dur);
    add("operator.exclusive", operators.exclusive);
    add("operator.parent", operators.parent);
    add("operator.name", operators.name);
    add("operator.layout", operators.layout);
    add("operator.inputs", operators.inputs);
    add("operator.outputs", operators.outputs);
    add("operator.numbers", operators.numbers);
    add("operator.first", operators.first);
    const auto& ops = file.ops;
    add("op.id", ops.id);
    add("op.device", ops.device);
    add("op.stream", ops.stream);
    add("op.start", ops.start);
    add("op.dur", ops.dur);
    add("op.launch_tid", ops.launch_tid);
    add("op.launch_start", ops.launch_start);
    add("op.launch_end", ops.launch_end);
    add("op.correlation", ops.correlation);
    add("op.bytes", ops.bytes);
    add("op.parent", ops.parent);
    add("op.name", ops.name);
    add("op.cat", ops.cat);
    add("op.launch_name", ops.launch_name);
    add("op.group", ops.group);
    add("op.after", ops.after);
    add("op.first", ops.first);
    add("op.is_launched", ops.is_launched);
    return columns;
}

nb::dict comms(const std::vector<std::uint32_t>& places, const std::vector<std::string>& texts) {
    nb::dict found;
    for (std::size_t at = 0; at < places.size(); ++at) {
        found[nb::int_(places[at])] = nb::bytes(texts[at].data(), texts[at].size());
    }
    return found;
}

// Each layout has its schema, or None, and for each of its numbers the place among those of the host.
void read_operators(ReplayFacts& facts, const replay::LinkedFile& file, const nb::list& layouts,
                    const Array<std::uint32_t>& tensors, const Array<std::int64_t>& flops,
                    const Array<std::uint8_t>& metadata) {
    std::vector<std::uint32_t> schemas;
    std::vector<nb::bytes> places;
    for (nb::handle layout : layouts) {
        const auto schema = nb::object(layout[0]);
        schemas.push_back(schema.is_none() ? replay::none : facts.texts.intern(nb::cast<std::string_view>(schema)));
        places.push_back(nb::cast<nb::bytes>(layout[1]));
    }
    const auto& all = file.operators;
    for (std::size_t at = 0; at < all.id.size(); ++at) {
        replay::OfOperator& into = facts.operators[at];
        const std::uint32_t layout = all.layout[at];
        into.schema = schemas.at(layout);
        const char* const place = places[layout].c_str();
        for (std::uint64_t hole = 0; hole < all.first[at + 1] - all.first[at]; ++hole) {
            if (const auto number = static_cast<std::size_t>(place[hole]); number < into.number.size()) {
                into.number[number] = all.numbers[all.first[at] + hole];
                into.known = static_cast<std::uint8_t>(into.known | 1U << number);
            }
        }
        into.inputs = tensors.data()[all.inputs[at]];
        into.outputs = tensors.data()[all.outputs[at]];
        into.counts = flops.data()[at] != replay::LinkedFile::no_time;
        into.num_ops = into.counts ? flops.data()[at] : 0;
        into.is_metadata = metadata.data()[all.name[at]] != 0;
    }
}

}  // namespace

void register_linked(nb::module_& module) {
    nb::class_<replay::LinkedFile> file(module, "LinkedFile", "A linked trace in columns.");
    file.attr("NO_TIME") = replay::LinkedFile::no_time;
    file.def(nb::init<>());
    file.def("feed", [](replay::LinkedFile& self, const nb::bytes& nodes) {
        const std::string_view text(nodes.c_str(), nodes.size());
        const InterruptibleWork work(text.size());
        return self.feed(text.substr(1, text.size() - 2));
    }, nb::arg("nodes"), "Takes a list of nodes; false if they are not as our linker writes them.");
    file.def("finish", &replay::LinkedFile::finish);
    file.def("columns", &columns_of_file, nb::sig("def columns(self) -> dict[str, memoryview]"));
    file.def("names", [](const replay::LinkedFile& self) { return json_texts(self.names.names()); },
             nb::sig("def names(self) -> list[bytes]"));
    file.def("layouts", [](const replay::LinkedFile& self) { return json_texts(self.layouts.names()); },
             nb::sig("def layouts(self) -> list[bytes]"));
    file.def("tensors", [](const replay::LinkedFile& self) { return json_texts(self.tensors.names()); },
             nb::sig("def tensors(self) -> list[bytes]"));
    file.def("operator_comm", [](const replay::LinkedFile& self) {
        return comms(self.operators_with_comm, self.operator_comm);
    }, nb::sig("def operator_comm(self) -> dict[int, bytes]"));
    file.def("op_comm", [](const replay::LinkedFile& self) { return comms(self.ops_with_comm, self.op_comm); },
             nb::sig("def op_comm(self) -> dict[int, bytes]"));
    module.def("read_operators", &read_operators, nb::arg("facts"), nb::arg("file"), nb::arg("layouts"),
               nb::arg("tensors"), nb::arg("flops"), nb::arg("metadata"),
               nb::sig("def read_operators(facts: ReplayFacts, file: LinkedFile, "
                       "layouts: list[tuple[str | None, bytes]], tensors: typing.Any, flops: typing.Any, "
                       "metadata: typing.Any) -> None"));
}

}  // namespace yantra
