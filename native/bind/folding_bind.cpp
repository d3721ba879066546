// Python's view of folding: classes of ranks, and what distinguished them.
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "bind/choices.hpp"
#include "bind/fields.hpp"
#include "bind/interruptible.hpp"
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
    Class<Split>(module, "Split")
        .field("rank", &Split::rank)
        .field("other", &Split::other)
        .field("difference", &Split::difference)
        .field("classes", &Split::classes)
        .def_prop_ro("communicator", [](const Split& s) {
            return typed_unless_none<CommunicatorId>(s.communicator);
        });
    Class<Folding> folding(module, "Folding");
    folding.field("refusal", &Folding::refusal).field("splits", &Folding::splits)
        .field("spares_messages", &Folding::spares_messages);
    folding.column("class_of", &Folding::class_of);
    folding.column("representative", &Folding::representative);
    folding.column("count", &Folding::count);
    module.def("fold", &fold, "model"_a, "least_ranks_per_class"_a = 2,
               Interruptible());
}

}  // namespace yantra
