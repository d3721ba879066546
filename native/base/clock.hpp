// TimeScale: from nanoseconds to whole ticks. Native scenarios round to the nearest picosecond; the
// astra-sim semantics truncate to nanoseconds, as upstream. No moment exceeds `latest_tick`.
#pragma once

#include <cmath>

#include "base/ensure.hpp"
#include "base/too_long.hpp"
#include "base/types.hpp"

namespace yantra {

class TimeScale {
public:
    static TimeScale truncated_nanoseconds() { return TimeScale(1); }
    static TimeScale picoseconds() { return TimeScale(1000); }

    u64 ticks_per_ns() const { return ticks_per_ns_; }
    u64 longest_ns() const { return longest_ticks / ticks_per_ns_; }

    u64 ticks(double ns) const { return rounded(ns * static_cast<double>(ticks_per_ns_)); }

    u64 rounded(double ticks) const {
        if (!(ticks >= 0.0 && ticks < static_cast<double>(latest_tick))) [[unlikely]] {
            return outside(ticks);
        }
        return ticks_per_ns_ == 1 ? static_cast<u64>(static_cast<i64>(ticks))
                                  : static_cast<u64>(std::llround(ticks));
    }

    // Upstream truncates each of the `count`; picoseconds round the sum.
    u64 ticks(double ns, u64 count) const {
        return ticks_per_ns_ == 1 ? times(count, ticks(ns)) : ticks(ns * static_cast<double>(count));
    }

    u64 whole(u64 ns) const { return times(ns, ticks_per_ns_); }

    u64 times(u64 count, u64 ticks) const {
        u64 product = 0;
        if (__builtin_mul_overflow(count, ticks, &product) || product > longest_ticks) [[unlikely]] {
            too_long(static_cast<double>(count) * static_cast<double>(ticks));
        }
        return product;
    }

    u64 sum(u64 first, u64 second) const {
        if (second > longest_ticks - first) [[unlikely]] {
            too_long(static_cast<double>(first) + static_cast<double>(second));
        }
        return first + second;
    }

    // double -> uint64 as x86-64 gcc does it: 0 if 64 bits cannot hold it, 2^63 for NaN.
    static u64 truncate(double value) {
        if (value >= 0.0 && value < 9.0e18) [[likely]] {
            return static_cast<u64>(static_cast<i64>(value));
        }
        if (std::isnan(value)) {
            return latest_tick;
        }
        return std::isfinite(value) && value < 18446744073709551616.0 ? static_cast<u64>(value) : 0;
    }

private:
    explicit TimeScale(u64 ticks_per_ns) : ticks_per_ns_(ticks_per_ns) {}

    // A rate of 0 or none means no limit, so no time; NaN lasts for ever, as in upstream's
    // conversion.
    [[gnu::noinline, gnu::cold]] u64 outside(double ticks) const {
        if (std::isnan(ticks)) {
            return latest_tick;
        }
        if (ticks < 0.0) {
            fail("a duration below zero");
        }
        if (std::isinf(ticks)) {
            return 0;
        }
        too_long(ticks);
    }

    [[noreturn, gnu::noinline, gnu::cold]] void too_long(double ticks) const {
        throw TooLong(ticks / static_cast<double>(ticks_per_ns_));
    }

    u64 ticks_per_ns_;
};

}  // namespace yantra
