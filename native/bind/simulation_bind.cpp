// Python's view of a run, whole or folded, and of why a folded one stopped.
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <memory>
#include <utility>
#include <vector>

#include "accounting/entries.hpp"
#include "base/cores.hpp"
#include "bind/choices.hpp"
#include "bind/fields.hpp"
#include "bind/held_run.hpp"
#include "bind/interruptible.hpp"
#include "bind/optional.hpp"
#include "bind/parts.hpp"
#include "fold/shortcuts/shortcuts.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace yantra {

namespace {

// Entries of collectives are noted on demand.
Outcome with_entries(const Model& model, Outcome outcome) {
    outcome.note_entries = [held = nb::find(model)](Outcome& of) {
        note_entries(nb::cast<const Model&>(held), of);
    };
    return outcome;
}

}  // namespace

void register_simulation(nb::module_& module) {
    module.def("limit_cores", [](u32 most) { most_cores = most; }, "most"_a,
               "What each run that begins takes at most, as others run beside it; 0: all.");
    Class<Tie>(module, "Tie")
        .field("reason", &Tie::reason)
        .def_prop_ro("rank_class", [](const Tie& tie) { return unless_none(tie.rank_class); })
        .def_prop_ro("node", [](const Tie& tie) { return unless_none(tie.node); })
        .def_prop_ro("other_node", [](const Tie& tie) { return unless_none(tie.other_node); });
    Class<Late>(module, "Late")
        .field("tick", &Late::tick)
        .field("ns", &Late::ns)
        .def_prop_ro("rank", [](const Late& late) { return unless_none(late.rank); })
        .def_prop_ro("node", [](const Late& late) { return unless_none(late.node); });
    Class<ArrivedJobs>(module, "ArrivedJobs")
        .field("first_node", &ArrivedJobs::first_node)
        .def_prop_ro("begun", [](const ArrivedJobs& jobs) { return unless_never(jobs.begun); })
        .def_prop_ro("ended", [](const ArrivedJobs& jobs) { return unless_never(jobs.ended); });
    nb::class_<HeldRun>(module, "Simulation")
        .def("__init__", [](HeldRun* self, const Model& model, bool match_by_tag, const Folding* folding,
                            bool shortcuts) {
            const InterruptibleCall call;
            new (self) HeldRun{model, plain::make_run(model, match_by_tag, copy_of(folding),
                                                      shortcuts ? &make_shortcuts : nullptr)};
        }, "model"_a, "match_by_tag"_a = false, "folding"_a = nb::none(), "shortcuts"_a = true,
           nb::keep_alive<1, 2>())
        .def_prop_ro("tie", [](const HeldRun& held) { return held.run->stop().tie; })
        .def("note", [](HeldRun& held, Notes notes) { held.run->note(notes); }, "notes"_a)
        .def("start", [](HeldRun& held) { held.run->start(); }, Interruptible())
        .def("run_for", [](HeldRun& held, u64 events) { return held.run->run_for(events); }, "events"_a,
             Interruptible())
        .def_prop_ro("late", [](const HeldRun& held) { return held.run->stop().late; })
        .def("outcome", [](const HeldRun& held) { return with_entries(held.model, held.run->outcome()); })
        .def("take_outcome", [](HeldRun& held) { return with_entries(held.model, held.run->take_outcome()); },
             "The outcome of a run of which nobody asks for another.")
        .def_prop_ro("mismatch", [](const HeldRun& held) { return held.run->stop().mismatch; })
        .def_prop_ro("now", [](const HeldRun& held) { return held.run->progress().now; })
        .def_prop_ro("nodes_done", [](const HeldRun& held) { return held.run->progress().nodes_done; })
        .def_prop_ro("nodes_skipped", [](const HeldRun& held) { return held.run->progress().nodes_skipped; })
        .def("submit", [](HeldRun& held, const std::vector<u32>& ranks,
                          const std::vector<std::shared_ptr<Job>>& jobs, u64 tick) {
            return held.run->work().submit(ranks, jobs, tick);
        }, "ranks"_a, "jobs"_a, "tick"_a)
        .def("withdraw", [](HeldRun& held, u32 arrival) { return held.run->work().withdraw(arrival); }, "arrival"_a)
        .def("take_ended", [](HeldRun& held) { return held.run->work().take_ended(); })
        .def("arrival", [](HeldRun& held, u32 number) { return held.run->work().arrival(number); }, "number"_a);
}

}  // namespace yantra
