// Congestion-unaware network: latency x hops + size / bandwidth, no interaction.
//
// (ASTRA-sim 2.0, ISPASS 2023, section IV-C.) Cheapest level: one event per message. With
// `lowest_dimension_only` a message between ranks that differ in several dimensions is charged for
// the lowest of them alone, as upstream does; without, latencies add up over all dimensions crossed
// and the narrowest bandwidth counts.
#pragma once

#include <vector>

#include "base/clock.hpp"
#include "base/variant.hpp"
#include "engine/event_queue.hpp"
#include "network/network.hpp"
#include "fabric/grid.hpp"

namespace yantra::inline YANTRA_RUN {

class AnalyticalNetwork final : public NetworkModel {
public:
    AnalyticalNetwork(const Grid& grid, TimeScale scale, EventQueue& queue, bool lowest_dimension_only)
        : grid_(grid),
          scale_(scale),
          queue_(queue),
          lowest_dimension_only_(lowest_dimension_only),
          use_(grid.dimensions()),
          memo_(grid.dimensions()) {}

    void send(u32 src, u32 dst, u64 bytes, Notice arrived, Notice departed) override;
    void on_event(u32 kind, u32 index) override;
    std::optional<u64> alone(u32 src, u32 dst, u64 bytes, u64 times,
                             std::vector<LinkUse>& use) const override;
    bool can_repeat() const override { return true; }
    void repeat(const std::vector<LinkUse>& before, u64 times) override;
    std::vector<LinkRecord> links() const override { return {}; }
    std::vector<LinkUse> dimensions() const override { return use_; }

private:
    // The last delay of a dimension; collectives repeat theirs thousands of times.
    struct Memo {
        u64 bytes = 0;
        u64 ticks = 0;
        u32 hops = 0;  // 0: nothing yet
    };

    bool crosses_one() const { return lowest_dimension_only_ || grid_.dimensions() == 1; }
    u64 delay_in(u32 dimension, u32 hops, u64 bytes);
    u64 ticks_in(u32 dimension, u32 hops, u64 bytes) const;
    u64 delay_across(u32 src, u32 dst, u64 bytes, u64 times, std::vector<LinkUse>& use) const;

    const Grid& grid_;
    TimeScale scale_;
    EventQueue& queue_;
    bool lowest_dimension_only_;
    std::vector<LinkUse> use_;
    std::vector<Memo> memo_;
};

}  // namespace yantra
