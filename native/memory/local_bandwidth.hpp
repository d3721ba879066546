// LocalBandwidth: work of a rank shares its memory bandwidth max-min fairly: with a share b, a
// kernel of Q bytes and arithmetic time W takes max(W, Q / b) (roofline: Williams, Waterman,
// Patterson, CACM 2009). Collectives may take bandwidth and units (SMs), whose share s slows
// arithmetic to 1 - s. Trade-off: each begin or end reschedules.
#pragma once

#include <optional>
#include <vector>

#include "base/clock.hpp"
#include "base/ids.hpp"
#include "engine/engine.hpp"

namespace yantra::inline YANTRA_RUN {

// While a rank is in one.
struct TakenByCollectives {
    double units = 0.0;             // share of all
    double bytes_per_tick = 0.0;
    double units_of_all_to_all = -1.0;  // below 0: as all others
    bool alone = false;             // nothing shares the bandwidth: it says what waits for bytes

    bool any_units() const { return units > 0.0 || units_of_all_to_all > 0.0; }
    bool anything() const { return any_units() || bytes_per_tick > 0.0; }
};

class LocalBandwidth {
public:
    static constexpr double memory_bound = 0.8;

    // 0 bytes per tick: nothing is shared.
    LocalBandwidth(Engine& engine, double bytes_per_tick, TimeScale scale, u32 actors,
                   TakenByCollectives taken = {})
        : engine_(engine),
          bytes_per_tick_(bytes_per_tick),
          scale_(scale),
          taken_(taken),
          under_way_(enabled() ? actors : 0) {}

    bool enabled() const { return bytes_per_tick_ > 0.0; }

    void schedule(ActorId actor, u64 ticks, u64 bytes, EventKind done, u32 a, u32 b = none) {
        if (!enabled() || taken_.alone || ticks == 0 || bytes == 0) [[likely]] {
            engine_.of_ranks.schedule(actor, ticks, done, a, b);
            return;
        }
        begin(actor, ticks, bytes, done, a, b, false);
    }
    void schedule_kernel(ActorId actor, u64 ticks, u64 bytes, EventKind done, u32 a) {
        if (!enabled() || ticks == 0 || (bytes == 0 && !taken_.any_units())) [[likely]] {
            engine_.of_ranks.schedule(actor, ticks, done, a);
            return;
        }
        begin(actor, ticks, bytes, done, a, none, true);
    }

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

    // None if the end has moved.
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
        std::vector<u32> works;
        u64 at = 0;             // as of when `left` holds
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
    std::vector<Work> works_;
    std::vector<u32> free_;
};

}  // namespace yantra
