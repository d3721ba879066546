// TooLong: a duration or moment beyond the clock of 63 bits (106 days of picoseconds, 292 years of
// nanoseconds).
#pragma once

#include <optional>
#include <stdexcept>

#include "base/types.hpp"

namespace yantra {

inline constexpr u64 latest_tick = u64{1} << 63;
inline constexpr u64 longest_ticks = latest_tick - 1;   // of a duration

struct TooLong : std::runtime_error {
    TooLong() : std::runtime_error("a moment later than the clock counts") {}
    explicit TooLong(double of_ns)
        : std::runtime_error("a duration longer than the clock counts"), ns(of_ns) {}

    std::optional<double> ns;   // of the duration, if it alone is too long
};

}  // namespace yantra
