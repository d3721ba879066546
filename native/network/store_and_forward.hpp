// Store-and-forward network: whole messages, one FIFO per directed link: ASTRA-sim's
// congestion-aware network. Each hop takes latency + size / bandwidth; the link is free after size
// / bandwidth (astra-sim-semantics 2.4). Trade-off: two events per hop.
#pragma once

#include <vector>

#include "base/clock.hpp"
#include "base/pool.hpp"
#include "base/variant.hpp"
#include "engine/engine.hpp"
#include "fabric/grid.hpp"
#include "fabric/links.hpp"
#include "network/network.hpp"
#include "network/store_and_forward_probe.hpp"

namespace yantra::inline YANTRA_RUN {

class StoreAndForwardNetwork : public NetworkModel, public FastPath {
public:
    StoreAndForwardNetwork(const Grid& grid, TimeScale scale, Engine& engine);

    void send(const Message& message, Notice arrived, Notice departed) override;
    void handle(const Event& event) override;
    u32 handle_run(const EventRun& run, u32 at, u32 until) override;
    NetworkCapabilities capabilities() override { return {.fast_path = this}; }
    u32 only_link(RankId src, RankId dst) override;
    void send_over(u32 link, const Message& message, Notice arrived) override;
    void send_over_links(std::span<const OverLink> many, u64 bytes) override;
    u64 ticks_of_rounds(std::span<const OverLink> many, u64 bytes) override;
    void pass_rounds(std::span<const OverLink> many, u64 bytes, u64 rounds) override;
    std::vector<LinkRecord> links() const override;
    std::vector<LinkUse> dimensions() const override;
    NetworkReport report() override;

protected:
    struct Transit {
        u64 bytes = 0;
        Links::Stop stop;         // where the current link leads
        Notice arrived;
        u32 dst = none;
        u32 behind = none;        // next message in the link's queue
        Notice departed;
    };
    struct Link {
        u32 first = none;
        u32 last = none;
        u32 dimension = 0;
        bool busy = false;
        LinkUse use;
    };
    // The times of the last size.
    struct Times {
        u64 bytes = ~u64{0};
        u64 hop = 0;
        u64 busy = 0;
    };

    // `links`: by dimension.
    StoreAndForwardNetwork(const Grid& grid, TimeScale scale, Engine& engine,
                           const std::vector<u32>& links);

    u32 accept(const Message& message, Notice arrived, Notice departed);
    const Times& times_of(u32 dimension, u64 bytes) {
        Times& times = times_[dimension];
        if (times.bytes != bytes) [[unlikely]] {
            settle(times, grid_.dimension(dimension), bytes);
        }
        return times;
    }
    void settle(Times& times, const Dimension& dimension, u64 bytes) const;
    const Times& occupy(u32 link, u64 bytes);
    void offer(u32 link, u32 transit);

    const Grid& grid_;
    TimeScale scale_;
    EventQueue& queue_;
    Links routes_;
    std::vector<Link> links_;
    std::vector<Times> times_;  // by dimension
    Pool<Transit> transits_;
    StoreAndForwardProbe probe_;

private:
    enum Kind : u32 { hop_done, link_free };

    virtual void take_on(u32 transit);
    void transmit(u32 link, u32 transit);
    void cross(u32 link, u64 bytes, Notice arrived);
    void free_link(u32 link);
    void serve_next(u32 link);
};

}  // namespace yantra
