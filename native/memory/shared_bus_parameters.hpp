// A shared bus's parameters, by LogGP's letters.
#pragma once

#include "base/types.hpp"

namespace yantra {

struct SharedBusParameters {
    bool enabled = false;
    u64 latency = 0;         // L, ticks
    u64 overhead = 0;        // o
    u64 gap = 0;             // g
    double gap_per_byte = 0; // G, ticks per byte
    u64 reduction_delay = 1; // ticks per 100 bytes reduced at the far side
};

}  // namespace yantra
