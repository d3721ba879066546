// Python's view of the writers of timelines and tables. Columns come as arrays of 64 bits and are not copied.
#include "bind/export_bind.hpp"

#include <nanobind/ndarray.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "export/cells.hpp"
#include "export/chrome.hpp"
#include "export/perfetto.hpp"
#include "export/rows.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace yantra {

namespace {

template <typename Value>
using Array = nb::ndarray<const Value, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Wholes = Array<u64>;
// name (a text), kind (0 whole, 1 real, 2 text), values.
using ArgumentTuple = std::tuple<u64, u32, Wholes>;

template <typename Value>
std::span<const Value> span_of(const Array<Value>& array) {
    return {array.data(), array.size()};
}

std::vector<Argument> arguments_of(const std::vector<ArgumentTuple>& tuples) {
    std::vector<Argument> arguments;
    for (const auto& [name, kind, values] : tuples) {
        ensure(kind <= 2, "timeline: no such kind of argument");
        arguments.push_back({name, static_cast<Argument::Kind>(kind), span_of(values)});
    }
    return arguments;
}

nb::bytes as_bytes(const std::string& text) { return nb::bytes(text.data(), text.size()); }

// A read-only property that shows the vector `member`; the view keeps its owner alive.
void column(nb::class_<Rows>& in, const char* name, std::vector<u64> Rows::* member) {
    in.def_prop_ro(name, [member](const Rows& self) {
        const std::vector<u64>& values = self.*member;
        return nb::ndarray<nb::memview, const u64, nb::ndim<1>>(values.data(), {values.size()},
                                                               nb::find(self));
    });
}

template <typename Writer>
void register_writer(nb::module_& module, const char* name) {
    nb::class_<Writer>(module, name)
        .def(nb::init<>())
        .def("text", &Writer::text, "words"_a)
        .def("process", &Writer::process, "track"_a, "number"_a, "name"_a, "place"_a)
        .def("track", &Writer::track, "track"_a, "parent"_a, "name"_a, "about"_a = "")
        .def("counter", &Writer::counter, "track"_a, "parent"_a, "name"_a, "unit"_a)
        .def("slices", [](Writer& self, const Wholes& track, const Wholes& name, const Wholes& category,
                          const Wholes& start, const Wholes& end,
                          const std::vector<ArgumentTuple>& arguments,
                          const std::tuple<Wholes, Wholes, Wholes, Wholes, Wholes>& ends,
                          const std::vector<ArgumentTuple>& of_ends) {
            const auto& [slice, time, words, flow, arrives] = ends;
            self.slices({span_of(track), span_of(name), span_of(category), span_of(start), span_of(end),
                         arguments_of(arguments)},
                        {span_of(slice), span_of(time), span_of(words), span_of(flow), span_of(arrives),
                         arguments_of(of_ends)});
        }, "track"_a, "name"_a, "category"_a, "start"_a, "end"_a, "arguments"_a, "ends"_a,
           "arguments_of_ends"_a)
        .def("values", [](Writer& self, u64 track, const Wholes& time, const Array<double>& value) {
            self.values(track, span_of(time), span_of(value));
        }, "track"_a, "time"_a, "value"_a)
        .def("finish", &Writer::finish)
        .def("take", [](Writer& self) { return as_bytes(self.take()); });
}

// kind (CellKind), array of 64 bits or list of texts, number.
using CellTuple = std::tuple<u32, nb::object, u64>;

// The arrays live as long as the tuples.
std::vector<Cells> cells_of(const std::vector<CellTuple>& tuples) {
    std::vector<Cells> columns;
    for (const auto& [kind, values, number] : tuples) {
        ensure(kind <= static_cast<u32>(CellKind::given), "table: no such kind of column");
        Cells& column = columns.emplace_back();
        column.kind = static_cast<CellKind>(kind);
        column.number = number;
        if (column.kind == CellKind::given) {
            column.given = nb::cast<std::vector<std::string>>(values);
        } else {
            column.values = span_of(nb::cast<Wholes>(values));
        }
    }
    return columns;
}

void register_tables(nb::module_& module) {
    nb::class_<TableWriter>(module, "TableWriter")
        .def(nb::init<bool>(), "json"_a)
        .def("new_texts", &TableWriter::new_texts)
        .def("add_texts", &TableWriter::add_texts, "number"_a, "texts"_a)
        .def("rows", [](const TableWriter& self, const std::vector<CellTuple>& columns) {
            return as_bytes(self.rows(cells_of(columns)));
        }, "columns"_a)
        .def("elements", [](const TableWriter& self, const CellTuple& column) {
            return as_bytes(self.elements(cells_of({column}).front()));
        }, "column"_a);
}

}  // namespace

void register_export(nb::module_& module) {
    register_writer<PerfettoWriter>(module, "PerfettoWriter");
    register_writer<ChromeWriter>(module, "ChromeWriter");
    register_tables(module);
    nb::class_<Rows> rows(module, "Rows");
    column(rows, "order", &Rows::order);
    column(rows, "row", &Rows::row);
    module.def("rows_of", [](const Wholes& track, const Wholes& start, const Wholes& end) {
        return rows_of(span_of(track), span_of(start), span_of(end));
    }, "track"_a, "start"_a, "end"_a);
}

}  // namespace yantra
