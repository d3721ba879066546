// Replica: one engine, or several that step together.
#pragma once

#include <algorithm>
#include <memory>

#include "serving/cost.hpp"
#include "serving/engine.hpp"

namespace yantra::serving {

enum class Role : u8 { both, prefill, decode };

inline std::size_t place_of(Role role) { return static_cast<std::size_t>(role); }

// `end_of_time` if it never fails.
struct Presence {
    Time from = 0;
    Time until = end_of_time;
};

struct Replica {
    struct Lane {
        std::unique_ptr<Engine> engine;
        Batch batch;   // under way
        Batch ahead;   // planned while it runs
    };

    struct Flight {
        std::vector<Batch> batches;   // by lane
        Time begin;
        Time end;
    };

    Role role = Role::both;
    u32 stages = 1;        // of a pipeline; more keep several batches under way
    std::shared_ptr<const Cost> cost;
    Presence presence;
    std::vector<Lane> lanes;
    TargetId first;        // of its lanes
    std::vector<Flight> flights;   // of a pipeline, in order
    Time enters = 0;       // when its first stage is free
    // Where there is no pipeline.
    bool is_busy = false;
    bool is_up = true;
    bool has_ahead = false;
    u32 version = 0;       // of its event in the queue
    Time begin = 0;
    Time end = 0;
    Pace pace;
    u64 count = 0;
    Time worked = 0;       // in all, as what follows
    Amounts amounts;       // of a device
    u64 iterations = 0;
    Time idle_since = 0;
    Time up_since = 0;
    Time was_up = 0;       // in all
    bool is_on_the_way = false;   // it was asked for
    bool is_ready = false;        // to be planned at this instant

    bool is_idle() const { return !is_busy && flights.empty(); }
    // Iterations of all lanes.
    u64 alike(bool has_ahead_planned) const {
        u64 most = ~u64{0};
        for (const Lane& lane : lanes) {
            if (lane.batch.items.empty()) {
                const Load load = lane.engine->load();
                const bool has_any = load.waiting > 0 || load.running > 0;
                most = has_any || (has_ahead_planned && !lane.ahead.items.empty()) ? 1 : most;
            } else if (most > 1) {
                most = std::min(most, lane.engine->alike(lane.batch, lane.ahead));
            }
        }
        return most;
    }
    // Those in which lanes are alike, the first of which ends last.
    Pace pace_of(u64 most) const {
        Pace made{0, 0, most};
        for (const Lane& lane : lanes) {
            if (!lane.batch.items.empty()) {
                Pace pace = cost->pace(lane.batch, most);
                if (lane.batch.reading > pace.first) {
                    pace = {lane.batch.reading, 0, 1};
                }
                pace.count = std::min(pace.count, most);
                made = made.first == 0 ? pace : made.slower(pace);
            }
        }
        return made;
    }
};

}  // namespace yantra::serving
