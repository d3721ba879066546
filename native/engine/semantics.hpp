// Semantics: how time is counted and which upstream quirks act.
#pragma once

#include "base/clock.hpp"

namespace yantra {

// Described in docs/concepts/quirks.md.
struct Quirks {
    bool padded_chunks = false;
    bool half_queues = false;
    bool send_completes_on_arrival = false;
    bool lowest_dimension_only = false;
    bool links_carry_anything = false;
    bool sizes_of_32_bits = false;
    bool bus_charges_reduction_twice = false;
    bool hash_order_custom = false;
    bool phases_as_ready = false;
    bool no_duration_takes_a_nanosecond = false;
    bool mismatched_collectives_meet = false;
    bool whole_microseconds = false;
    bool collectives_start_together = false;
};

struct Semantics {
    TimeScale scale = TimeScale::truncated_nanoseconds();
    Quirks quirks;
};

}  // namespace yantra
