// Python's view of a run, plain or recorded, of all ranks or of one rank per class.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>

#include <memory>
#include <tuple>

#include "fold/runtime/folded_run.hpp"
#include "run/simulation.hpp"

namespace yantra::inline YANTRA_RUN {

#ifdef YANTRA_RECORDED
inline constexpr bool recorded_run = true;   // which plays every event
#else
inline constexpr bool recorded_run = false;
#endif

class AnyRun {
public:
    AnyRun(const Model& model, bool match_by_tag, const Folding* folding, bool shortcuts) {
        if (folding == nullptr) {
            whole_ = std::make_unique<Simulation>(model, match_by_tag);
        } else {
            folded_ = std::make_unique<FoldedRun>(model, std::make_shared<const Folding>(*folding), shortcuts && !recorded_run);
        }
    }
    void start() { whole_ ? whole_->start() : folded_->start(); }
    bool run_for(u64 events) { return whole_ ? whole_->run_for(events) : folded_->run_for(events); }
    Outcome outcome() const { return whole_ ? whole_->outcome() : folded_->outcome(); }
    std::optional<Mismatch> mismatch() const { return whole_ ? whole_->mismatch() : folded_->mismatch(); }
    u64 now() const { return whole_ ? whole_->now() : folded_->now(); }
    u64 nodes_done() const { return whole_ ? whole_->nodes_done() : folded_->nodes_done(); }
    u64 nodes_skipped() const { return whole_ ? 0 : folded_->nodes_skipped(); }
    Recorder& recorder() { return whole_ ? whole_->recorder() : folded_->recorder(); }
    std::tuple<std::string, u32, u32, u32> tie() const {
        if (whole_) {
            return {"", none, none, none};
        }
        const TickOrder& order = folded_->order();
        return {order.found(), order.actor(), order.node(), order.other()};
    }

private:
    std::unique_ptr<Simulation> whole_;
    std::unique_ptr<FoldedRun> folded_;
};

inline nanobind::class_<AnyRun> bind_simulation_class(nanobind::module_& module, const char* name) {
    namespace nb = nanobind;
    using namespace nb::literals;
    return nb::class_<AnyRun>(module, name)
        .def("__init__", [](AnyRun* self, const Model& model, bool match_by_tag,
                            const Folding* folding, bool shortcuts) {
            nb::gil_scoped_release release;
            new (self) AnyRun(model, match_by_tag, folding, shortcuts);
        }, "model"_a, "match_by_tag"_a = false, "folding"_a = nb::none(), "shortcuts"_a = true, nb::keep_alive<1, 2>())
        .def_prop_ro("tie", &AnyRun::tie)
        .def("start", &AnyRun::start, nb::call_guard<nb::gil_scoped_release>())
        .def("run_for", &AnyRun::run_for, "events"_a, nb::call_guard<nb::gil_scoped_release>())
        .def("outcome", &AnyRun::outcome)
        .def_prop_ro("mismatch", [](const AnyRun& s) -> nb::object {
            const std::optional<Mismatch> m = s.mismatch();
            return m ? nb::object(nb::make_tuple(m->rank, m->node, m->other_rank, m->other_node))
                     : nb::object(nb::none());
        })
        .def_prop_ro("now", &AnyRun::now)
        .def_prop_ro("nodes_done", &AnyRun::nodes_done)
        .def_prop_ro("nodes_skipped", &AnyRun::nodes_skipped);
}

}  // namespace yantra
