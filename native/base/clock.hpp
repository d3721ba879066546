// TimeScale: how a real duration in nanoseconds becomes an integer number of ticks.
//
// Native scenarios run on picoseconds and round to the nearest; the astra-sim semantics run on whole
// nanoseconds and truncate, as upstream's conversion from double does. Keeping the tick (and not the
// picosecond) as the engine's unit makes upstream's numbers exact by construction and its runs as
// cheap as upstream's own.
#pragma once

#include <algorithm>
#include <cmath>

#include "base/types.hpp"

namespace yantra {

class TimeScale {
public:
    static TimeScale truncated_nanoseconds() { return TimeScale(1); }
    static TimeScale picoseconds() { return TimeScale(1000); }

    u64 ticks_per_ns() const { return ticks_per_ns_; }

    u64 ticks(double ns) const { return rounded(ns * static_cast<double>(ticks_per_ns_)); }

    // A real number of ticks as a whole one.
    u64 rounded(double ticks) const {
        return ticks_per_ns_ == 1 ? truncate(ticks) : static_cast<u64>(std::llround(clamp(ticks)));
    }

    // `count` such durations in a row. Upstream truncates each; picoseconds round the sum.
    u64 ticks(double ns, u64 count) const {
        return ticks_per_ns_ == 1 ? count * truncate(ns) : ticks(ns * static_cast<double>(count));
    }

    u64 whole(u64 ns) const { return ns * ticks_per_ns_; }

    // double -> uint64 as x86-64 gcc does it: +inf is 0, NaN is 2^63.
    static u64 truncate(double value) {
        if (value >= 0.0 && value < 9.0e18) [[likely]] {
            return static_cast<u64>(static_cast<i64>(value));
        }
        if (std::isnan(value)) {
            return u64{1} << 63;
        }
        return std::isfinite(value) && value < 18446744073709551616.0 ? static_cast<u64>(value) : 0;
    }

private:
    explicit TimeScale(u64 ticks_per_ns) : ticks_per_ns_(ticks_per_ns) {}

    // As above, no limit is no time, and what has no value lasts for ever.
    static double clamp(double ps) {
        constexpr double longest = 9.0e18;
        return std::isnan(ps) ? longest : std::isfinite(ps) ? std::min(ps, longest) : 0.0;
    }

    u64 ticks_per_ns_;
};

}  // namespace yantra
