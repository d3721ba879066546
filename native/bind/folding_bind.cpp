// Python's view of folding: classes of ranks, and what told them apart.
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "bind/choices.hpp"
#include "bind/columns.hpp"
#include "bind/optional.hpp"
#include "bind/parts.hpp"
#include "fold/folding.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace yantra {

void register_folding(nb::module_& module) {
    Choices<Difference>(module, "Difference")
        .value("GRAPH", Difference::graph)
        .value("PEERS", Difference::peers)
        .value("PLAN", Difference::plan)
        .value("POSITION", Difference::position)
        .value("NEIGHBOURS", Difference::neighbours)
        .value("DISTANCE", Difference::distance)
        .value("EXCHANGE", Difference::exchange)
        .value("LINKS", Difference::links);
    nb::class_<Split>(module, "Split")
        .def_ro("rank", &Split::rank)
        .def_ro("other", &Split::other)
        .def_ro("difference", &Split::difference)
        .def_prop_ro("communicator", [](const Split& s) {
            return typed_unless_none<CommunicatorId>(s.communicator);
        })
        .def_ro("classes", &Split::classes);
    nb::class_<Folding> folding(module, "Folding");
    folding.def_ro("refusal", &Folding::refusal).def_ro("splits", &Folding::splits)
        .def_ro("spares_messages", &Folding::spares_messages);
    column(folding, "class_of", &Folding::class_of);
    column(folding, "representative", &Folding::representative);
    column(folding, "count", &Folding::count);
    module.def("fold", &fold, "model"_a, "least_ranks_per_class"_a = 2,
               nb::call_guard<nb::gil_scoped_release>());
}

}  // namespace yantra
