// Ids as Python classes: comparable and hashable, with an index, not constructible.
#pragma once

#include <nanobind/nanobind.h>

#include <functional>

#include "base/ids.hpp"

namespace yantra {

template <class IdType>
void bind_id(nanobind::module_& module, const char* name) {
    namespace nb = nanobind;
    nb::class_<IdType>(module, name)
        .def("__eq__", [](IdType id, IdType other) { return id == other; }, nb::is_operator(),
             nb::sig("def __eq__(self, other: object, /) -> bool"))
        .def("__hash__", [](IdType id) { return std::hash<IdType>{}(id); })
        .def("__repr__", [name](IdType id) { return nb::str("<{} {}>").format(name, id.index()); })
        .def_prop_ro("index", &IdType::index);
}

}  // namespace yantra
