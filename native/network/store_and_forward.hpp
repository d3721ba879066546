// Congestion-aware network: whole messages, one FIFO per directed link, store and forward.
//
// Each hop takes latency + size / bandwidth; the link is free again after size / bandwidth
// (astra-sim-semantics 2.4). Which links there are and which a message takes: links.hpp. Costs two
// events per hop.
#pragma once

#include <memory>
#include <vector>

#include "base/clock.hpp"
#include "base/pool.hpp"
#include "base/variant.hpp"
#include "engine/event_queue.hpp"
#include "fabric/links.hpp"
#include "network/network.hpp"
#include "fabric/grid.hpp"

namespace yantra::inline YANTRA_RUN {

class StoreAndForwardNetwork : public NetworkModel {
public:
    StoreAndForwardNetwork(const Grid& grid, TimeScale scale, EventQueue& queue);

    void send(u32 src, u32 dst, u64 bytes, Notice arrived, Notice departed) override;
    void on_event(u32 kind, u32 index) override;
    std::vector<LinkRecord> links() const override;
    std::vector<LinkUse> dimensions() const override;
    std::vector<u64> busiest() const override;

protected:
    struct Transit {
        u64 bytes = 0;
        Links::Stop stop;         // where the link it waits for or crosses leads
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
    // How long a message of a size takes over a link of a dimension; the last size is remembered.
    struct Times {
        u64 bytes = ~u64{0};
        u64 hop = 0;
        u64 busy = 0;
    };

    static constexpr u32 hop_done = event::network_first;
    static constexpr u32 link_free = event::network_second;

    // `dimension_of_links`: of as many links as the network keeps.
    StoreAndForwardNetwork(const Grid& grid, TimeScale scale, EventQueue& queue,
                     const std::vector<u32>& dimension_of_links);

    u32 accept(u32 src, u32 dst, u64 bytes, Notice arrived, Notice departed);
    const Times& times_of(u32 dimension, u64 bytes);
    void offer(u32 link, u32 message);
    void free_link(u32 link);

    // Of recorded runs alone, in recorded.cpp.
    struct Records;
    void record_send(u32 message);
    void record_offer(u32 message);
    void record_transmission(u32 link, u32 message);
    void record_free_link(u32 link);
    // The number among all links of one that the network keeps.
    virtual u32 number_of(u32 link) const { return link; }
    // The class of every link, where one of each class is kept; else empty.
    virtual std::vector<u32> link_classes() const { return {}; }

    const Grid& grid_;
    TimeScale scale_;
    EventQueue& queue_;
    Links routes_;
    std::vector<Link> links_;
    std::vector<Times> times_;  // by dimension
    Pool<Transit> transits_;
    std::shared_ptr<Records> records_;

private:
    void go_on(u32 message);
    void transmit(u32 link, u32 message);
};

}  // namespace yantra
