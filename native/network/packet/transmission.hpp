// How long bytes take at a rate: to the nearest ps, or in whole ns as the ns-3 fork: x = floor(8 B
// 2^64 / R), ns = floor((x 10^9 + 2^63) / 2^64) (docs/concepts/packet-network.md).
#pragma once

#include <cmath>

#include "base/types.hpp"

namespace yantra::packet {

inline u64 exact_ns(u64 bytes, u64 bits_per_s) {
    using Wide = unsigned __int128;
    const Wide quotient = (Wide{bytes * 8} << 64) / bits_per_s;
    const u64 whole = static_cast<u64>(quotient >> 64);
    const u64 part = static_cast<u64>(quotient);
    const Wide scaled = Wide{part} * 1000000000u + (Wide{1} << 63);
    return whole * 1000000000u + static_cast<u64>(scaled >> 64);
}

class Transmission {
public:
    explicit Transmission(u64 ticks_per_ns)
        : ticks_per_ns_(ticks_per_ns), ticks_per_second_(static_cast<double>(ticks_per_ns) * 1e9) {}

    u64 ticks(u64 bytes, u64 bits_per_s) const {
        const double ticks = static_cast<double>(bytes * 8) * ticks_per_second_ / static_cast<double>(bits_per_s);
        const double down = std::floor(ticks);
        const double rest = ticks - down;
        if (ticks_per_ns_ == 1 && std::abs(rest - 0.5) < 1e-6) [[unlikely]] {
            return exact_ns(bytes, bits_per_s);
        }
        return static_cast<u64>(down) + (rest >= 0.5 ? 1 : 0);
    }

private:
    u64 ticks_per_ns_;
    double ticks_per_second_;
};

}  // namespace yantra::packet
