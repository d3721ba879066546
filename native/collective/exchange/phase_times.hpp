// PhaseTimes: predicts when exchange phases end without their messages.
//
// Only in a run where all that take part do the same at the same time
// (fold/shortcuts/closed_form.hpp) or it is known how others behave
// (fold/shortcuts/joint_phase.hpp). A prediction may fail while the phase is under way: then it is
// played from where it is (PhaseMoment), and the known end is void.
#pragma once

#include <optional>
#include <span>

#include "base/vector.hpp"
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
    Vector<HandOver> handed_over;
    Vector<UnderWay> under_way;   // in the order in which they were sent
    Vector<i32> waiting;          // by counter: arrivals less receives posted
};

struct KnownEnd {
    ActorId actor;
    ChunkId chunk;
    u64 ticks = 0;   // from now
};

class PhaseTimes {
public:
    // None: only events can tell. Else the ends known now: its own, those of all if it is the last
    // to come, or none yet; then the phase is counted, and its messages are not sent.
    virtual std::optional<std::span<const KnownEnd>> ends(const PhaseInput& input, ChunkId chunk) = 0;
    // How many such phases may share one event, since their ends are always known once all have
    // come to the first, and the clock reaches; or 0. The input needs no chunk.
    virtual u64 most_alike(const PhaseInput& input) = 0;
    // The phase ends when those of further chunks, of these bytes, would.
    virtual void stands_for(ChunkId chunk, std::span<const u64> more) = 0;
    // Whether predictions may fail, so that chunks must be able to take turns.
    virtual bool may_not_hold() const { return false; }
    virtual bool is_void(ChunkId chunk) = 0;
    // Whether the end is also that of all chunks that it represents and could have become.
    virtual bool ends_all(ChunkId /*chunk*/) { return false; }

protected:
    ~PhaseTimes() = default;
};

}  // namespace yantra
