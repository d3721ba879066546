// Analytical network: latency x hops + size / bandwidth, without interaction
// (analytical_formula.hpp).
//
// ASTRA-sim's congestion-unaware network, to the tick; the cheapest level, one event per message.
// Without the quirk `links-carry-anything`, messages take turns on ranks' links: network/ports.hpp.
#pragma once

#include "base/clock.hpp"
#include "base/variant.hpp"
#include "base/vector.hpp"
#include "engine/engine.hpp"
#include "network/analytical_formula.hpp"
#include "network/network.hpp"
#include "fabric/grid.hpp"

namespace yantra::inline YANTRA_RUN {

class AnalyticalNetwork final : public NetworkModel,
                                public FastPath,
                                public KnownTimes,
                                public RecurringState {
public:
    AnalyticalNetwork(const Grid& grid, TimeScale scale, Engine& engine, bool lowest_dimension_only)
        : grid_(grid),
          scale_(scale),
          queue_(engine.queue),
          formula_(grid, scale, lowest_dimension_only),
          use_(grid.dimensions()) {}

    void send(const Message& message, Notice arrived, Notice departed) override;
    NetworkCapabilities capabilities() override {
        return {.fast_path = this, .known_times = this, .recurring_state = this};
    }
    FixedWay fixed_way(const Message& message) override;
    bool ways_are_alike() const override {
        return grid_.dimensions() == 1 && (grid_.dimension(0).block == Block::fully_connected ||
                                           grid_.dimension(0).block == Block::switched);
    }
    u64 alone(const Message& message, u64 times, Vector<LinkUse>& use) const override;
    Vector<LinkUse> what_repeats() const override { return use_; }
    void repeat(const Vector<LinkUse>& before, u64 times) override;
    Vector<LinkRecord> links() const override { return {}; }
    Vector<LinkUse> dimensions() const override { return use_; }

private:
    const Grid& grid_;
    TimeScale scale_;
    EventQueue& queue_;
    AnalyticalFormula formula_;
    Vector<LinkUse> use_;
};

}  // namespace yantra
