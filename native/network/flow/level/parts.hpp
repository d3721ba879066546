// What is under way: messages, and their parts, each on its way.
#pragma once

#include "base/never.hpp"
#include "base/variant.hpp"
#include "engine/event.hpp"
#include "network/flow/level/ids.hpp"

namespace yantra::inline YANTRA_RUN::flow {

constexpr double least_bytes = 1e-9;   // left of what ends in this tick

struct Options {
    bool rtt_fairness = false;
    u32 parts = 1;   // of a message, for routings by packet
    bool in_order = false;   // all messages between two places go one by one, not only a collective's
};

struct Transit {
    PartId first_part;
    u32 parts_left = 0;
    Notice arrived;
    Notice departed;       // none once it has
    bool is_asking = false;    // an event will ask whether it has left
    bool has_arrived = false;
    bool was_rerouted = false;
    bool has_waited = false;   // for a link that was down

    bool is_background() const { return arrived.kind.is_none(); }
};

struct Part {
    TransitId transit;
    u32 from = 0;          // places
    u32 to = 0;
    u32 packet = 0;
    PartId next;           // of the transit
    RouteId route;
    u32 flow = none;       // while it holds links
    u64 bytes = 0;
    u64 order = 0;         // of its message: order within a tick
    double enters_ns = 0.0;
    u64 entered = 0;       // tick
    u64 waits_since = never;   // tick, for a link that is down
    bool is_over = false;
    bool is_sending = false;   // its sender has not heard that it left
    bool by_formula = false;   // holds its links without sharing them
    bool is_in_line = false;   // others between the same two places wait for it
    PartId behind;         // next part in the line
};

}  // namespace yantra::inline YANTRA_RUN::flow
