// Python's view of a run, plain or recorded, of all ranks or of one rank per class.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <vector>

#include "accounting/entries.hpp"
#include "base/unsupported.hpp"
#include "bind/optional.hpp"
#include "fold/runtime/folded_run.hpp"
#include "run/late.hpp"
#include "run/simulation.hpp"
#ifndef YANTRA_RECORDED
#include "fold/shortcuts/shortcuts.hpp"
#endif

namespace yantra {

// Why a folded run cannot go on: what happened in an order that may differ between the ranks of a class.
struct Tie {
    std::string reason;
    u32 rank_class = none;
    u32 node = none;         // that it is about, and another
    u32 other_node = none;
};

// Jobs that arrived together: when they began and ended, and where the times of their nodes are.
struct ArrivedJobs {
    u64 begun = never;
    u64 ended = never;
    std::vector<u32> first_node;   // by job, in the order in which they were submitted
};

inline namespace YANTRA_RUN {

inline std::unique_ptr<Shortcuts> shortcuts_of(const Model& model, const Folding& folding) {
#ifdef YANTRA_RECORDED
    static_cast<void>(model);
    static_cast<void>(folding);
    return nullptr;   // it needs the cause of every event
#else
    return make_shortcuts(model, folding);
#endif
}

class AnyRun {
public:
    AnyRun(const Model& model, bool match_by_tag, const Folding* folding, bool shortcuts)
        : model_(model) {
        if (folding == nullptr) {
            whole_ = std::make_unique<Simulation>(model, match_by_tag);
        } else {
            classes_ = std::make_shared<const Folding>(*folding);
            folded_ = std::make_unique<FoldedRun>(model, classes_, shortcuts ? shortcuts_of(model, *classes_) : nullptr);
        }
    }

    // A folded run notes nothing: it does not know the order of the ranks of a class.
    void note(Notes notes) {
        if (whole_) {
            whole_->executor().note(notes);
        }
    }
    void start() {
        watched([this] { whole_ ? whole_->start() : folded_->start(); });
    }
    bool run_for(u64 events) {
        return watched([this, events] {
            return whole_ ? whole_->run_for(events) : folded_->run_for(events);
        });
    }
    // Where the clock would have passed what it counts; TooLong was thrown there.
    const std::optional<Late>& late() const { return late_; }
    Outcome outcome() const {
        Outcome outcome = whole_ ? whole_->outcome() : folded_->outcome();
        note_entries(model_, outcome);
        return outcome;
    }
    std::optional<Mismatch> mismatch() const {
        return whole_ ? whole_->mismatch() : folded_->mismatch();
    }
    std::optional<Tie> tie() const {
        if (whole_ || folded_->order().found().empty()) {
            return std::nullopt;
        }
        const TickOrder& order = folded_->order();
        return Tie{order.found(), order.actor(), order.node(), order.other()};
    }
    u64 now() const { return whole_ ? whole_->now() : folded_->now(); }
    u64 ticks_per_ns() const { return model_.scale.ticks_per_ns(); }
    u64 nodes_done() const { return whole_ ? whole_->nodes_done() : folded_->nodes_done(); }
    u64 nodes_skipped() const { return whole_ ? 0 : folded_->nodes_skipped(); }
    Recorder& recorder() { return whole_ ? whole_->recorder() : folded_->recorder(); }

    u32 submit(const std::vector<u32>& ranks, const std::vector<std::shared_ptr<Job>>& jobs, u64 tick) {
        ensure(ranks.size() == jobs.size(), "a rank for each job");
        Simulation::Jobs of_ranks;
        for (std::size_t i = 0; i < jobs.size(); ++i) {
            of_ranks.emplace_back(ranks[i], jobs[i]);
        }
        return whole().submit(of_ranks, tick);
    }
    bool withdraw(u32 arrival) { return whole().withdraw(arrival); }
    std::vector<u32> take_ended() { return whole().take_ended(); }
    ArrivedJobs arrival(u32 number) {
        const Executor::Arrival& of = whole().arrival(number);
        return {of.begun, of.ended, of.first_place};
    }

private:
    template <class Do>
    std::invoke_result_t<Do> watched(Do&& what) {
        try {
            return what();
        } catch (const TooLong& error) {
            late_ = yantra::late(whole_ ? *whole_ : folded_->simulation(), error);
            throw;
        }
    }
    Simulation& whole() {
        ensure(whole_ != nullptr, "jobs cannot arrive where one rank stands for many");
        return *whole_;
    }

    const Model& model_;
    std::unique_ptr<Simulation> whole_;
    std::shared_ptr<const Folding> classes_;   // of a folded run
    std::unique_ptr<FoldedRun> folded_;
    std::optional<Late> late_;
};

inline nanobind::class_<AnyRun> bind_simulation_class(nanobind::module_& module, const char* name) {
    namespace nb = nanobind;
    using namespace nb::literals;
    using Unlocked = nb::call_guard<nb::gil_scoped_release>;
    return nb::class_<AnyRun>(module, name)
        .def("__init__", [](AnyRun* self, const Model& model, bool match_by_tag,
                            const Folding* folding, bool shortcuts) {
            const nb::gil_scoped_release unlocked;
            new (self) AnyRun(model, match_by_tag, folding, shortcuts);
        }, "model"_a, "match_by_tag"_a = false, "folding"_a = nb::none(), "shortcuts"_a = true, nb::keep_alive<1, 2>())
        .def_prop_ro("tie", &AnyRun::tie)
        .def("note", &AnyRun::note, "notes"_a)
        .def("start", &AnyRun::start, Unlocked())
        .def("run_for", &AnyRun::run_for, "events"_a, Unlocked())
        .def_prop_ro("late", &AnyRun::late)
        .def("outcome", &AnyRun::outcome)
        .def_prop_ro("mismatch", &AnyRun::mismatch)
        .def_prop_ro("now", &AnyRun::now)
        .def_prop_ro("nodes_done", &AnyRun::nodes_done)
        .def_prop_ro("nodes_skipped", &AnyRun::nodes_skipped)
        .def("submit", &AnyRun::submit, "ranks"_a, "jobs"_a, "tick"_a)
        .def("withdraw", &AnyRun::withdraw, "arrival"_a)
        .def("take_ended", &AnyRun::take_ended)
        .def("arrival", &AnyRun::arrival, "number"_a);
}

}  // namespace YANTRA_RUN

}  // namespace yantra
