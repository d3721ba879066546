// AnyRun: a run, whole or folded, plain or recorded, so that bind/ compiles once. Trade-off: a
// virtual call per some hundred thousand events.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/types.hpp"
#include "base/variant.hpp"
#include "execution/happening.hpp"
#include "fold/folding.hpp"
#include "model/model.hpp"
#include "record/recording.hpp"
#include "run/late.hpp"
#include "run/outcome.hpp"

namespace yantra {

// An order that may differ within a class.
struct Tie {
    std::string reason;
    u32 rank_class = none;
    u32 node = none;         // the node that it is about, and another
    u32 other_node = none;
};

struct ArrivedJobs {
    u64 begun = never;
    u64 ended = never;
    std::vector<u32> first_node;   // by job, in order of submission
};

struct RunProgress {
    u64 now = 0;   // tick
    u64 nodes_done = 0;
    u64 nodes_skipped = 0;
};

struct RunStop {
    std::optional<Late> late;   // TooLong was thrown there, as the clock would overflow
    std::optional<Mismatch> mismatch;
    std::optional<Tie> tie;
};

// Only if every rank runs.
class ArrivingWork {
public:
    virtual u32 submit(const std::vector<u32>& ranks, const std::vector<std::shared_ptr<Job>>& jobs,
                       u64 tick) = 0;
    virtual bool withdraw(u32 arrival) = 0;
    virtual std::vector<u32> take_ended() = 0;
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

    virtual void note(Notes notes) = 0;
    virtual void start() = 0;
    // As Simulation::run_for and FoldedRun::run_for.
    virtual bool run_for(u64 events) = 0;
    virtual Outcome outcome() const = 0;
    virtual Outcome take_outcome() = 0;   // once
    virtual RunProgress progress() const = 0;
    virtual RunStop stop() const = 0;
    virtual ArrivingWork& work() = 0;
};

class AnyRecordedRun : public AnyRun {
public:
    virtual void limit(u64 bytes) = 0;
    // Call once.
    virtual Recording take_recording() = 0;
};

// The model must outlive the result.
namespace plain {
class Shortcuts;
using MakeShortcuts = std::unique_ptr<Shortcuts> (*)(const Model&, const ActorClasses&);

// `shortcuts`: null to simulate every message.
std::unique_ptr<AnyRun> make_run(const Model& model, bool match_by_tag,
                                 std::shared_ptr<const Folding> folding, MakeShortcuts shortcuts);
}  // namespace plain

namespace recorded {
std::unique_ptr<AnyRecordedRun> make_run(const Model& model, bool match_by_tag,
                                         std::shared_ptr<const Folding> folding);
}  // namespace recorded

}  // namespace yantra
