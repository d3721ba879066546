// AnalyticalFormula: latency x hops + size / bandwidth (ASTRA-sim 2.0, ISPASS 2023, section IV-C).
// With `lowest_dimension_only` only the lowest dimension crossed counts, as upstream; else
// latencies add up and the narrowest bandwidth counts.
#pragma once

#include <algorithm>
#include <limits>
#include <vector>

#include "base/clock.hpp"
#include "base/ensure.hpp"
#include "fabric/grid.hpp"
#include "network/crossed.hpp"
#include "network/network.hpp"

namespace yantra {

class AnalyticalFormula {
public:
    AnalyticalFormula(const Grid& grid, TimeScale scale, bool lowest_dimension_only)
        : grid_(grid),
          scale_(scale),
          lowest_dimension_only_(lowest_dimension_only),
          known_(std::size_t{grid.dimensions()} << known_bits) {}

    bool crosses_one() const { return lowest_dimension_only_ || grid_.dimensions() == 1; }
    bool lowest_dimension_only() const { return lowest_dimension_only_; }

    Grid::Crossing crossing(const Message& message) const {
        const Grid::Crossing first = grid_.first_crossing(message.src.index(), message.dst.index());
        ensure(first.dimension < grid_.dimensions(), "a message to its own sender");
        return first;
    }

    // Memoised, as messages have few sizes.
    u64 known_ticks(u32 dimension, u32 hops, u64 bytes) {
        const u64 mixed = (bytes + (u64{hops} << 40U)) * 0x9e3779b97f4a7c15u;
        Known& known = known_[(std::size_t{dimension} << known_bits) + (mixed >> (64 - known_bits))];
        if (known.bytes != bytes || known.hops != hops) [[unlikely]] {
            known = {bytes, ticks_in(dimension, hops, bytes), hops};
        }
        return known.ticks;
    }

    u64 ticks_in(u32 d, u32 hops, u64 bytes) const {
        const Dimension& dimension = grid_.dimension(d);
        return scale_.ticks(hops * dimension.latency_ns + static_cast<double>(bytes) / dimension.bytes_per_ns);
    }

    // `use`, by dimension, gets the message `times` over.
    u64 ticks_across(const Message& message, u64 times, std::vector<LinkUse>& use) const {
        double latency = 0.0;
        double bytes_per_ns = std::numeric_limits<double>::infinity();
        for_each_crossed(grid_, message, [&](u32 d, u32 from, u32 to) {
            const Dimension& dimension = grid_.dimension(d);
            latency += grid_.hops(d, from, to) * dimension.latency_ns;
            bytes_per_ns = std::min(bytes_per_ns, dimension.bytes_per_ns);
            count(use[d], message.bytes, times);
        });
        return scale_.ticks(latency + static_cast<double>(message.bytes) / bytes_per_ns);
    }

    u64 ticks(const Message& message, u64 times, std::vector<LinkUse>& use) {
        const auto [d, from, to] = crossing(message);
        if (!crosses_one()) {
            return ticks_across(message, times, use);
        }
        count(use[d], message.bytes, times);
        return known_ticks(d, grid_.hops(d, from, to), message.bytes);
    }

private:
    struct Known {
        u64 bytes = 0;
        u64 ticks = 0;
        u32 hops = 0;   // 0: empty
    };
    static constexpr u32 known_bits = 9;

    const Grid& grid_;
    TimeScale scale_;
    bool lowest_dimension_only_;
    std::vector<Known> known_;   // 2^known_bits for each dimension
};

}  // namespace yantra
