// Semantics: whose rules a run follows, as how it counts time and which oddities of upstream act.
#pragma once

#include "base/clock.hpp"

namespace yantra {

// Oddities of upstream that act during a run; the reference page docs/concepts/quirks.md has one
// line for each.
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
