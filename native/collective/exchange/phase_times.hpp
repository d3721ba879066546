// PhaseTimes: predicts when exchange phases end without their messages
// (fold/shortcuts/closed_form.hpp, joint_phase.hpp). A prediction may fail: then the phase is
// played from where it is (PhaseMoment).
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "collective/exchange/law.hpp"
#include "collective/phase_input.hpp"

namespace yantra {

// Before the present tick.
struct PhaseMoment {
    struct HandOver {
        u64 ticks = 0;        // until it ends, or until the reduction after it does
        u32 run = 0;
        bool reduces = false;
    };
    struct UnderWay {
        u64 number = 0;       // in order of sending
        i64 since = 0;        // ticks since it began to leave; below 0, until it will
    };
    exchange::Progress progress;
    std::vector<HandOver> handed_over;
    std::vector<UnderWay> under_way;   // in the order in which they were sent
    std::vector<i32> waiting;          // by counter: arrivals less receives posted
};

struct KnownEnd {
    ActorId actor;
    ChunkId chunk;
    u64 ticks = 0;   // from now
};

class PhaseTimes {
public:
    // None: only events can tell. Else the ends known now: its own, those of all, or none yet; then
    // its messages are not sent.
    virtual std::optional<std::span<const KnownEnd>> ends(const PhaseInput& input, ChunkId chunk) = 0;
    // How many such phases may share one event, or 0.
    virtual u64 most_alike(const PhaseInput& input) = 0;
    virtual void stands_for(ChunkId chunk, std::span<const u64> more) = 0;
    virtual bool may_not_hold() const { return false; }
    virtual bool is_void(ChunkId chunk) = 0;
    virtual bool ends_all(ChunkId /*chunk*/) { return false; }

protected:
    ~PhaseTimes() = default;
};

}  // namespace yantra
