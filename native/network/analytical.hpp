// Analytical network: latency x hops + size / bandwidth, without interaction
// (analytical_formula.hpp): ASTRA-sim's congestion-unaware network. Without the quirk
// `links-carry-anything`, messages take turns on ranks' links: network/ports.hpp.
#pragma once

#include <vector>

#include "base/clock.hpp"
#include "base/variant.hpp"
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
    u64 alone(const Message& message, u64 times, std::vector<LinkUse>& use) const override;
    std::vector<LinkUse> what_repeats() const override { return use_; }
    void repeat(const std::vector<LinkUse>& before, u64 times) override;
    std::vector<LinkRecord> links() const override { return {}; }
    std::vector<LinkUse> dimensions() const override { return use_; }

private:
    const Grid& grid_;
    TimeScale scale_;
    EventQueue& queue_;
    AnalyticalFormula formula_;
    std::vector<LinkUse> use_;
};

}  // namespace yantra
