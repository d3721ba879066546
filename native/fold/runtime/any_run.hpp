// AnyRun: a run of all ranks or of one rank for each class, plain or recorded, from outside.
//
// Both variants of a run (base/variant.hpp) are compiled behind this one class, so that who starts runs
// (bind/) is compiled once and reads none of their headers. Trade-off: a virtual call for each call from
// outside, which come once for some hundred thousand events.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "base/types.hpp"
#include "base/variant.hpp"
#include "base/vector.hpp"
#include "execution/happening.hpp"
#include "fold/folding.hpp"
#include "model/model.hpp"
#include "record/recording.hpp"
#include "run/late.hpp"
#include "run/outcome.hpp"

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
    Vector<u32> first_node;   // by job, in the order in which they were submitted
};

// How far a run is.
struct RunProgress {
    u64 now = 0;   // tick
    u64 nodes_done = 0;
    u64 nodes_skipped = 0;
};

// Why a run did not go on.
struct RunStop {
    std::optional<Late> late;   // where the clock would have passed what it counts; TooLong was thrown there
    std::optional<Mismatch> mismatch;
    std::optional<Tie> tie;
};

// Work that arrives. Only where every rank runs.
class ArrivingWork {
public:
    // Jobs for ranks, to begin at a tick; returns their number.
    virtual u32 submit(const Vector<u32>& ranks, const Vector<std::shared_ptr<Job>>& jobs,
                       u64 tick) = 0;
    virtual bool withdraw(u32 arrival) = 0;
    virtual Vector<u32> take_ended() = 0;
    virtual ArrivedJobs arrival(u32 number) = 0;

protected:
    ~ArrivingWork() = default;
};

class AnyRun {
public:
    AnyRun() = default;
    AnyRun(const AnyRun&) = delete;
    AnyRun& operator=(const AnyRun&) = delete;
    virtual ~AnyRun() = default;

    // A folded run notes nothing: it does not know the order of the ranks of a class.
    virtual void note(Notes notes) = 0;
    virtual void start() = 0;
    // As Simulation::run_for and FoldedRun::run_for.
    virtual bool run_for(u64 events) = 0;
    virtual Outcome outcome() const = 0;
    virtual Outcome take_outcome() = 0;   // once, and no other
    virtual RunProgress progress() const = 0;
    virtual RunStop stop() const = 0;
    virtual ArrivingWork& work() = 0;
};

class AnyRecordedRun : public AnyRun {
public:
    virtual void limit(u64 bytes) = 0;
    // What was recorded, once.
    virtual Recording take_recording() = 0;
};

// `folding`: null to run every rank. The model must outlive what these return.
namespace plain {
class Shortcuts;
using MakeShortcuts = std::unique_ptr<Shortcuts> (*)(const Model&, const ActorClasses&);

// `shortcuts`: who makes them for a folded run; null for none, and then every message goes by itself.
std::unique_ptr<AnyRun> make_run(const Model& model, bool match_by_tag,
                                 std::shared_ptr<const Folding> folding, MakeShortcuts shortcuts);
}  // namespace plain

namespace recorded {
std::unique_ptr<AnyRecordedRun> make_run(const Model& model, bool match_by_tag,
                                         std::shared_ptr<const Folding> folding);
}  // namespace recorded

}  // namespace yantra
