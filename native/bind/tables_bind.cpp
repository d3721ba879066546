// Python's view of the table writer.
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/ensure.hpp"
#include "bind/arrays.hpp"
#include "bind/choices.hpp"
#include "bind/parts.hpp"
#include "export/cells.hpp"
#include "export/planes.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace yantra {

namespace {

struct CellColumn {
    std::optional<Wholes> values;   // none: texts are given
    Cells cells;
};

CellColumn numbers(CellKind kind, const Wholes& values, u64 number) {
    ensure(kind != CellKind::given, "table: numbers cannot be given as texts");
    return {values, {kind, span_of(values), number, {}}};
}

CellColumn given(std::vector<std::string> texts) {
    return {std::nullopt, {CellKind::given, {}, 0, std::move(texts)}};
}

nb::bytes as_bytes(const std::string& text) { return nb::bytes(text.data(), text.size()); }

}  // namespace

void register_tables(nb::module_& module) {
    Choices<CellKind>(module, "CellKind")
        .value("WHOLE", CellKind::whole)
        .value("TICKS", CellKind::ticks)
        .value("REAL", CellKind::real)
        .value("CODED", CellKind::coded);
    nb::class_<CellColumn>(module, "Cells")
        .def_static("numbers", &numbers, "kind"_a, "values"_a, "number"_a = 0)
        .def_static("given", &given, "texts"_a);
    nb::class_<TableWriter>(module, "TableWriter")
        .def(nb::init<bool>(), "json"_a)
        .def("new_texts", &TableWriter::new_texts)
        .def("add_texts", &TableWriter::add_texts, "number"_a, "texts"_a)
        .def("rows", [](const TableWriter& self, const std::vector<CellColumn>& columns) {
            std::vector<Cells> cells;
            for (const CellColumn& column : columns) {
                cells.push_back(column.cells);
            }
            return as_bytes(self.rows(cells));
        }, "columns"_a)
        .def("elements", [](const TableWriter& self, const CellColumn& column) {
            return as_bytes(self.elements(column.cells));
        }, "column"_a);
    module.def("to_planes", [](const Wholes& numbers) { return as_bytes(to_planes(span_of(numbers))); },
               "numbers"_a);
    module.def("from_planes", [](const nb::bytes& planes) {
        return as_bytes(from_planes({planes.c_str(), planes.size()}));
    }, "planes"_a);
}

}  // namespace yantra
