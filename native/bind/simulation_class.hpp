// Python's view of a Simulation, plain or recorded.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>

#include <memory>
#include <tuple>

#include "sim/simulation.hpp"

namespace yantra {

template <class AnySimulation>
nanobind::class_<AnySimulation> bind_simulation_class(nanobind::module_& module, const char* name) {
    namespace nb = nanobind;
    using namespace nb::literals;
    return nb::class_<AnySimulation>(module, name)
        .def("__init__", [](AnySimulation* self, const Model& model, bool match_by_tag,
                            const Folding* folding, bool shortcuts) {
            nb::gil_scoped_release release;
            new (self) AnySimulation(model, match_by_tag, folding == nullptr ? nullptr : std::make_shared<const Folding>(*folding), shortcuts);
        }, "model"_a, "match_by_tag"_a = false, "folding"_a = nb::none(), "shortcuts"_a = true, nb::keep_alive<1, 2>())
        .def_prop_ro("tie", [](const AnySimulation& s) {
            const Ties& ties = s.ties();
            return std::make_tuple(ties.found(), ties.rank(), ties.node(), ties.other());
        })
        .def("start", &AnySimulation::start, nb::call_guard<nb::gil_scoped_release>())
        .def("run_for", &AnySimulation::run_for, "events"_a, nb::call_guard<nb::gil_scoped_release>())
        .def("outcome", &AnySimulation::outcome)
        .def_prop_ro("mismatch", [](const AnySimulation& s) -> nb::object {
            const std::optional<Mismatch>& m = s.mismatch();
            return m ? nb::object(nb::make_tuple(m->rank, m->node, m->other_rank, m->other_node))
                     : nb::object(nb::none());
        })
        .def_prop_ro("now", &AnySimulation::now)
        .def_prop_ro("nodes_done", &AnySimulation::nodes_done)
        .def_prop_ro("nodes_skipped", &AnySimulation::nodes_skipped);
}

}  // namespace yantra
