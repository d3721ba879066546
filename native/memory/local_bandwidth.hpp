// LocalBandwidth: kernels, reductions and copies of a rank share the bandwidth of its memory.
//
// Each says how long it takes alone and how many bytes it moves, so it wants bytes / time of the
// bandwidth. What is under way at once gets max-min fair shares, nobody more than it wants (specs of
// memory models, contention): under a share b a kernel of Q bytes whose arithmetic takes W takes
// max(W, Q / b), as by the roofline (Williams, Waterman, Patterson, CACM 2009). Alone it takes what it
// takes without. Trade-off: a fluid model, in which work has one rate from its first to its last byte;
// when something begins or ends, what shares with it is scheduled anew.
//
// Collectives under way may take units (SMs) and bandwidth, too: of the units a share s, which slows
// kernels that are bound by arithmetic to 1 - s of their speed, and of the bandwidth what they want, as
// if they were one more piece of work. A kernel is bound by memory that wants `memory_bound` of it. All-to-alls
// may have units of their own, as libraries that exchange tokens do, beside those of others.
#pragma once

#include <optional>

#include "base/clock.hpp"
#include "base/ids.hpp"
#include "base/vector.hpp"
#include "engine/engine.hpp"

namespace yantra::inline YANTRA_RUN {

// What collectives take of a rank while it is in one.
struct TakenByCollectives {
    double units = 0.0;             // share of all
    double bytes_per_tick = 0.0;
    double units_of_all_to_all = -1.0;  // below 0: as all others

    bool any_units() const { return units > 0.0 || units_of_all_to_all > 0.0; }
    bool anything() const { return any_units() || bytes_per_tick > 0.0; }
};

class LocalBandwidth {
public:
    static constexpr double memory_bound = 0.8;

    // With 0 bytes per tick nothing is shared, and nothing is taken.
    LocalBandwidth(Engine& engine, double bytes_per_tick, TimeScale scale, u32 actors,
                   TakenByCollectives taken = {})
        : engine_(engine),
          bytes_per_tick_(bytes_per_tick),
          scale_(scale),
          taken_(taken),
          under_way_(enabled() ? actors : 0) {}

    bool enabled() const { return bytes_per_tick_ > 0.0; }

    // Lets an event of the actor come when work is done that takes `ticks` alone and moves `bytes`.
    void schedule(ActorId actor, u64 ticks, u64 bytes, EventKind done, u32 a, u32 b = none) {
        if (!enabled() || ticks == 0 || bytes == 0) [[likely]] {
            engine_.of_ranks.schedule(actor, ticks, done, a, b);
            return;
        }
        begin(actor, ticks, bytes, done, a, b, false);
    }
    // The same of a kernel.
    void schedule_kernel(ActorId actor, u64 ticks, u64 bytes, EventKind done, u32 a) {
        if (!enabled() || ticks == 0 || (bytes == 0 && !taken_.any_units())) [[likely]] {
            engine_.of_ranks.schedule(actor, ticks, done, a);
            return;
        }
        begin(actor, ticks, bytes, done, a, none, true);
    }

    // The actor has entered, or left, a collective.
    void collective_begins(ActorId actor, bool is_all_to_all = false) {
        if (enabled() && taken_.anything()) [[unlikely]] {
            collectives_change(actor, is_all_to_all, 1);
        }
    }
    void collective_ends(ActorId actor, bool is_all_to_all = false) {
        if (enabled() && taken_.anything()) [[unlikely]] {
            collectives_change(actor, is_all_to_all, -1);
        }
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
        bool is_kernel = false;
    };
    struct OfActor {
        Vector<u32> works;
        u64 at = 0;             // until when `left` is told
        i32 collectives = 0;    // that the actor is in, but
        i32 all_to_alls = 0;    // these, if they have units of their own

        bool communicates() const { return collectives > 0 || all_to_alls > 0; }
    };

    [[gnu::noinline]] void begin(ActorId actor, u64 ticks, u64 bytes, EventKind done, u32 a, u32 b,
                                 bool is_kernel);
    [[gnu::noinline]] void collectives_change(ActorId actor, bool is_all_to_all, i32 by);
    double units_left(const OfActor& of) const;
    double speed(const Work& work, double share, const OfActor& of) const;
    void advance(OfActor& of);
    void share(ActorId actor, OfActor& of);
    void plan(ActorId actor, u32 number);

    Engine& engine_;
    double bytes_per_tick_;
    TimeScale scale_;
    TakenByCollectives taken_;
    IdVector<ActorId, OfActor> under_way_;
    Vector<Work> works_;
    Vector<u32> free_;
};

}  // namespace yantra
