// Python's view of timeline writers.
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/vector.h>

#include <vector>

#include "bind/arrays.hpp"
#include "bind/choices.hpp"
#include "bind/fields.hpp"
#include "bind/parts.hpp"
#include "export/chrome.hpp"
#include "export/perfetto.hpp"
#include "export/rows.hpp"
#include "export/table_order.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace yantra {

namespace {

struct ArgumentColumn {
    u64 name = 0;
    Argument::Kind kind = Argument::Kind::whole;
    Wholes values;
};

struct SliceColumns {
    Wholes track, name, category, start, end;
    std::vector<ArgumentColumn> arguments;
};

struct MessageEndColumns {
    Wholes slice, time, name, flow, arrives;
    std::vector<ArgumentColumn> arguments;
};

std::vector<Argument> arguments_of(const std::vector<ArgumentColumn>& columns) {
    std::vector<Argument> arguments;
    for (const ArgumentColumn& column : columns) {
        arguments.push_back({column.name, column.kind, span_of(column.values)});
    }
    return arguments;
}

Slices seen(const SliceColumns& of) {
    return {span_of(of.track), span_of(of.name), span_of(of.category), span_of(of.start), span_of(of.end),
            arguments_of(of.arguments)};
}

MessageEnds seen(const MessageEndColumns& of) {
    return {span_of(of.slice), span_of(of.time), span_of(of.name), span_of(of.flow), span_of(of.arrives),
            arguments_of(of.arguments)};
}

template <typename Writer>
void bind_writer(nb::module_& module, const char* name) {
    nb::class_<Writer>(module, name)
        .def(nb::init<>())
        .def("text", &Writer::text, "words"_a)
        .def("process", &Writer::process, "track"_a, "number"_a, "name"_a, "place"_a)
        .def("track", &Writer::track, "track"_a, "parent"_a, "name"_a, "about"_a = "")
        .def("counter", &Writer::counter, "track"_a, "parent"_a, "name"_a, "unit"_a)
        .def("slices", [](Writer& self, const SliceColumns& slices, const MessageEndColumns& ends) {
            self.slices(seen(slices), seen(ends));
        }, "slices"_a, "ends"_a)
        .def("values", [](Writer& self, u64 track, const Wholes& time, const Array<double>& value) {
            self.values(track, span_of(time), span_of(value));
        }, "track"_a, "time"_a, "value"_a)
        .def("finish", &Writer::finish)
        .def("take", [](Writer& self) {
            const std::string text = self.take();
            return nb::bytes(text.data(), text.size());
        });
}

void bind_records(nb::module_& module) {
    Choices<Argument::Kind>(module, "ArgumentKind")
        .value("WHOLE", Argument::Kind::whole)
        .value("REAL", Argument::Kind::real)
        .value("TEXT", Argument::Kind::text);
    nb::class_<ArgumentColumn>(module, "Argument")
        .def(nb::init<u64, Argument::Kind, Wholes>(), "name"_a, "kind"_a, "values"_a);
    nb::class_<SliceColumns>(module, "Slices")
        .def(nb::init<Wholes, Wholes, Wholes, Wholes, Wholes, std::vector<ArgumentColumn>>(),
             nb::kw_only(), "track"_a, "name"_a, "category"_a, "start"_a, "end"_a, "arguments"_a);
    nb::class_<MessageEndColumns>(module, "MessageEnds")
        .def(nb::init<Wholes, Wholes, Wholes, Wholes, Wholes, std::vector<ArgumentColumn>>(),
             nb::kw_only(), "slice"_a, "time"_a, "name"_a, "flow"_a, "arrives"_a, "arguments"_a);
    Class<Rows> rows(module, "Rows");
    rows.column("order", &Rows::order);
    rows.column("row", &Rows::row);
}

}  // namespace

void register_timelines(nb::module_& module) {
    bind_records(module);
    bind_writer<PerfettoWriter>(module, "PerfettoWriter");
    bind_writer<ChromeWriter>(module, "ChromeWriter");
    module.def("rows_of", [](const Wholes& track, const Wholes& start, const Wholes& end) {
        return rows_of(span_of(track), span_of(start), span_of(end));
    }, "track"_a, "start"_a, "end"_a);
    module.def("hash_map_order", &hash_map_order, "names"_a);
    module.def("longest_first", &longest_first, "lifetimes"_a);
}

}  // namespace yantra
