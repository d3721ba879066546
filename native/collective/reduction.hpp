// The time of a local reduction.
#pragma once

#include "base/clock.hpp"

namespace yantra {

// One write and two reads (astra-sim-semantics 5.2); the order of operations decides the truncated
// value.
inline u64 reduction_ticks(double memory_bytes_per_s, const TimeScale& scale, u64 bytes) {
    if (memory_bytes_per_s <= 0.0) {
        return 0;
    }
    return scale.ticks(static_cast<double>(bytes) / memory_bytes_per_s * 1e9, 3);
}

inline u64 reduction_traffic(u64 bytes) { return 3 * bytes; }

}  // namespace yantra
