// Analytical network: latency x hops + size / bandwidth, no interaction.
//
// ASTRA-sim's congestion-unaware network (ASTRA-sim 2.0, ISPASS 2023, section IV-C). Cheapest level: one event per message. With
// `lowest_dimension_only` a message between ranks that differ in several dimensions is charged for
// the lowest of them alone, as upstream does; without, latencies add up over all dimensions crossed
// and the narrowest bandwidth counts.
#pragma once

#include "base/clock.hpp"
#include "base/variant.hpp"
#include "base/vector.hpp"
#include "engine/engine.hpp"
#include "network/network.hpp"
#include "fabric/grid.hpp"

namespace yantra::inline YANTRA_RUN {

class AnalyticalNetwork final : public NetworkModel {
public:
    AnalyticalNetwork(const Grid& grid, TimeScale scale, Engine& engine, bool lowest_dimension_only)
        : grid_(grid),
          scale_(scale),
          queue_(engine.queue),
          lowest_dimension_only_(lowest_dimension_only),
          use_(grid.dimensions()),
          known_(std::size_t{grid.dimensions()} << known_bits) {}

    void send(const Message& message, Notice arrived, Notice departed) override;
    void handle(const Event& event) override;
    NetworkCapabilities capabilities() const override { return {true, true}; }
    FixedWay fixed_way(const Message& message) override;
    bool ways_are_alike() const override {
        return grid_.dimensions() == 1 && (grid_.dimension(0).block == Block::fully_connected ||
                                           grid_.dimension(0).block == Block::switched);
    }
    u64 alone(const Message& message, u64 times, Vector<LinkUse>& use) const override;
    void repeat(const Vector<LinkUse>& before, u64 times) override;
    Vector<LinkRecord> links() const override { return {}; }
    Vector<LinkUse> dimensions() const override { return use_; }

private:
    // A delay of a dimension. Collectives repeat theirs thousands of times, and messages between nodes have
    // few sizes, so those that were asked for last are kept, each where its size and hops lead.
    struct KnownDelay {
        u64 bytes = 0;
        u64 ticks = 0;
        u32 hops = 0;  // 0: nothing yet
    };
    static constexpr u32 known_bits = 9;

    bool crosses_one() const { return lowest_dimension_only_ || grid_.dimensions() == 1; }
    Grid::Crossing crossing(const Message& message) const;
    u64 delay_in(u32 dimension, u32 hops, const Message& message);
    u64 known_delay(u32 dimension, u32 hops, u64 bytes);
    u64 ticks_in(u32 dimension, u32 hops, u64 bytes) const;
    u64 delay_across(const Message& message, u64 times, Vector<LinkUse>& use) const;

    const Grid& grid_;
    TimeScale scale_;
    EventQueue& queue_;
    bool lowest_dimension_only_;
    Vector<LinkUse> use_;
    Vector<KnownDelay> known_;   // 2 to the power of known_bits for each dimension
};

}  // namespace yantra
