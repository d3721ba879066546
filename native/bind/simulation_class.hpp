// Python's view of a run, plain or recorded, of all ranks or of one rank per class.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <memory>
#include <vector>

#include "accounting/entries.hpp"
#include "bind/optional.hpp"
#include "fold/runtime/any_run.hpp"

namespace yantra {

// What Python holds: an AnyRun or an AnyRecordedRun, and its model.
template <class Run>
struct HeldRun {
    const Model& model;
    std::unique_ptr<Run> run;
};

inline std::shared_ptr<const Folding> copy_of(const Folding* folding) {
    return folding == nullptr ? nullptr : std::make_shared<const Folding>(*folding);
}

// An outcome in which the entries of collectives are noted when somebody asks for them.
inline Outcome with_entries(const Model& model, Outcome outcome) {
    outcome.note_entries = [held = nanobind::find(model)](Outcome& of) {
        note_entries(nanobind::cast<const Model&>(held), of);
    };
    return outcome;
}

// What both classes have; the caller adds how one is made.
template <class Run>
nanobind::class_<HeldRun<Run>> bind_simulation_class(nanobind::module_& module, const char* name) {
    namespace nb = nanobind;
    using namespace nb::literals;
    using Unlocked = nb::call_guard<nb::gil_scoped_release>;
    using Held = HeldRun<Run>;
    return nb::class_<Held>(module, name)
        .def_prop_ro("tie", [](const Held& held) { return held.run->tie(); })
        .def("note", [](Held& held, Notes notes) { held.run->note(notes); }, "notes"_a)
        .def("start", [](Held& held) { held.run->start(); }, Unlocked())
        .def("run_for", [](Held& held, u64 events) { return held.run->run_for(events); }, "events"_a,
             Unlocked())
        .def_prop_ro("late", [](const Held& held) { return held.run->late(); })
        .def("outcome", [](const Held& held) { return with_entries(held.model, held.run->outcome()); })
        .def("take_outcome", [](Held& held) { return with_entries(held.model, held.run->take_outcome()); },
             "The outcome of a run of which nobody asks for another.")
        .def_prop_ro("mismatch", [](const Held& held) { return held.run->mismatch(); })
        .def_prop_ro("now", [](const Held& held) { return held.run->now(); })
        .def_prop_ro("nodes_done", [](const Held& held) { return held.run->nodes_done(); })
        .def_prop_ro("nodes_skipped", [](const Held& held) { return held.run->nodes_skipped(); })
        .def("submit", [](Held& held, const std::vector<u32>& ranks,
                          const std::vector<std::shared_ptr<Job>>& jobs, u64 tick) {
            return held.run->submit(ranks, jobs, tick);
        }, "ranks"_a, "jobs"_a, "tick"_a)
        .def("withdraw", [](Held& held, u32 arrival) { return held.run->withdraw(arrival); }, "arrival"_a)
        .def("take_ended", [](Held& held) { return held.run->take_ended(); })
        .def("arrival", [](Held& held, u32 number) { return held.run->arrival(number); }, "number"_a);
}

}  // namespace yantra
