// Replica: one engine, or several that step together, and the iterations it has under way.
#pragma once

#include <deque>
#include <memory>

#include "serving/cost.hpp"
#include "serving/engine.hpp"

namespace yantra::serving {

enum class Role : u8 { both, prefill, decode };

inline std::size_t place_of(Role role) { return static_cast<std::size_t>(role); }

// When a replica is there: `end_of_time` if it never fails.
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

    // A batch on its way through the stages of a pipeline.
    struct Flight {
        Batch batch;
        Time begin;
        Time end;
    };

    Role role = Role::both;
    u32 stages = 1;        // of a pipeline; more keep several batches under way
    std::shared_ptr<const Cost> cost;
    Presence presence;
    Vector<Lane> lanes;
    TargetId first;        // of its lanes
    std::deque<Flight> flights;   // of a pipeline, in order
    Time enters = 0;       // when its first stage is free
    // What follows is of the iterations under way, where there is no pipeline.
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
};

}  // namespace yantra::serving
