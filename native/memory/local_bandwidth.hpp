// LocalBandwidth: kernels, reductions and copies of a rank share the bandwidth of its memory.
//
// Each says how long it takes alone and how many bytes it moves, so it wants bytes / time of the
// bandwidth. What is under way at once gets max-min fair shares, nobody more than it wants (specs of
// memory models, contention): under a share b a kernel of Q bytes whose arithmetic takes W takes
// max(W, Q / b), as by the roofline (Williams, Waterman, Patterson, CACM 2009). Alone it takes what it
// takes without. Trade-off: a fluid model, in which work has one rate from its first to its last byte;
// when something begins or ends, what shares with it is scheduled anew.
#pragma once

#include <optional>
#include <vector>

#include "base/clock.hpp"
#include "base/ids.hpp"
#include "engine/engine.hpp"

namespace yantra::inline YANTRA_RUN {

class LocalBandwidth {
public:
    // With 0 bytes per tick nothing is shared.
    LocalBandwidth(Engine& engine, double bytes_per_tick, TimeScale scale, u32 actors)
        : engine_(engine),
          bytes_per_tick_(bytes_per_tick),
          scale_(scale),
          under_way_(enabled() ? actors : 0) {}

    bool enabled() const { return bytes_per_tick_ > 0.0; }

    // Lets an event of the actor come when work is done that takes `ticks` alone and moves `bytes`.
    void schedule(ActorId actor, u64 ticks, u64 bytes, EventKind done, u32 a, u32 b = none) {
        if (!enabled() || ticks == 0 || bytes == 0) [[likely]] {
            engine_.of_ranks.schedule(actor, ticks, done, a, b);
            return;
        }
        begin(actor, ticks, bytes, done, a, b);
    }

    // An event of its own: the event that is due, or none where the end was put off or brought forward.
    std::optional<RankEvent> due(ActorId actor, const RankEvent& event);

private:
    struct Work {
        RankEvent done;
        double left = 0.0;      // ticks, alone
        double wanted = 0.0;    // bytes per tick
        double speed = 1.0;     // of what it would be alone
        u64 end = 0;
        u32 generation = 0;     // of the event that counts
    };
    struct OfActor {
        std::vector<u32> works;
        u64 at = 0;             // until when `left` is told
    };

    [[gnu::noinline]] void begin(ActorId actor, u64 ticks, u64 bytes, EventKind done, u32 a, u32 b);
    void advance(OfActor& of);
    void share(ActorId actor, OfActor& of);
    void plan(ActorId actor, u32 number);

    Engine& engine_;
    double bytes_per_tick_;
    TimeScale scale_;
    IdVector<ActorId, OfActor> under_way_;
    std::vector<Work> works_;
    std::vector<u32> free_;
};

}  // namespace yantra
