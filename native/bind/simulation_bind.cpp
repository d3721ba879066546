// Python's view of a plain run, and of what gave a folded one up.
#include "bind/simulation_class.hpp"

#include "bind/choices.hpp"
#include "bind/parts.hpp"
#include "fold/shortcuts/shortcuts.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace yantra {

void register_simulation(nb::module_& module) {
    nb::class_<Tie>(module, "Tie")
        .def_ro("reason", &Tie::reason)
        .def_prop_ro("rank_class", [](const Tie& tie) { return unless_none(tie.rank_class); })
        .def_prop_ro("node", [](const Tie& tie) { return unless_none(tie.node); })
        .def_prop_ro("other_node", [](const Tie& tie) { return unless_none(tie.other_node); });
    nb::class_<Late>(module, "Late")
        .def_ro("tick", &Late::tick)
        .def_prop_ro("rank", [](const Late& late) { return unless_none(late.rank); })
        .def_prop_ro("node", [](const Late& late) { return unless_none(late.node); })
        .def_ro("ns", &Late::ns);
    nb::class_<ArrivedJobs>(module, "ArrivedJobs")
        .def_prop_ro("begun", [](const ArrivedJobs& jobs) { return unless_never(jobs.begun); })
        .def_prop_ro("ended", [](const ArrivedJobs& jobs) { return unless_never(jobs.ended); })
        .def_ro("first_node", &ArrivedJobs::first_node);
    bind_simulation_class<AnyRun>(module, "Simulation")
        .def("__init__", [](HeldRun<AnyRun>* self, const Model& model, bool match_by_tag,
                            const Folding* folding, bool shortcuts) {
            const nb::gil_scoped_release unlocked;
            new (self) HeldRun<AnyRun>{model, plain::make_run(model, match_by_tag, copy_of(folding),
                                                              shortcuts ? &make_shortcuts : nullptr)};
        }, "model"_a, "match_by_tag"_a = false, "folding"_a = nb::none(), "shortcuts"_a = true,
           nb::keep_alive<1, 2>());
}

}  // namespace yantra
