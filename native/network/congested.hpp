// Congestion-aware network: whole messages, one FIFO per directed link, store and forward.
//
// Each hop takes latency + size / bandwidth; the link is free again after size / bandwidth. Rings
// have two links per rank, a fully connected block one per ordered pair, a switch one link up and
// one down per rank, other blocks those of their table, once for every group of the dimension. A message crosses dimensions in ascending order; on one dimension this is
// exactly upstream's model (astra-sim-semantics 2.4), more dimensions are its generalisation. Routes
// are computed hop by hop from coordinates, or looked up in the table of one group, so that nothing
// but the links grows with the number of ranks. Costs two events per hop.
#pragma once

#include <memory>
#include <vector>

#include "base/clock.hpp"
#include "base/pool.hpp"
#include "base/variant.hpp"
#include "des/event_queue.hpp"
#include "network/network.hpp"
#include "topology/grid.hpp"

namespace yantra::inline YANTRA_RUN {

class CongestedNetwork final : public NetworkModel {
public:
    CongestedNetwork(const Grid& grid, TimeScale scale, EventQueue& queue);

    void send(u32 src, u32 dst, u64 bytes, Notice arrived, Notice departed) override;
    void on_event(u32 kind, u32 index) override;
    std::vector<LinkRecord> links() const override;
    std::vector<LinkUse> dimensions() const override;

private:
    struct Transit {
        u64 bytes = 0;
        u32 at = none;            // where the link it waits for or crosses leads: a rank, or
        u32 in_switch_of = none;  // a switch of this dimension (and `at` is a rank of its group);
                                  // the bits above the dimension's say which device of a table
        u32 dst = none;
        u32 behind = none;        // next message in the link's queue
        Notice arrived;
        Notice departed;
    };
    struct Link {
        u32 first = none;
        u32 last = none;
        u32 dimension = 0;
        bool busy = false;
        LinkUse use;
    };

    static constexpr u32 hop_done = event::network_first;
    static constexpr u32 link_free = event::network_second;

    // How long a message of a size takes over a link of a dimension; the last size is remembered.
    struct Times {
        u64 bytes = ~u64{0};
        u64 hop = 0;
        u64 busy = 0;
    };

    static constexpr u32 dimension_bits = 5;  // 2^31 ranks have at most 31 dimensions

    u32 links_per_group(u32 dimension) const;
    u32 step(Transit& transit) const;
    u32 step_in_table(Transit& transit, u32 dimension) const;
    const Times& times_of(u32 dimension, u64 bytes);
    void offer(u32 message);
    void transmit(u32 link, u32 message);
    void free_link(u32 link);
    LinkRecord describe(u32 link) const;
    u32 name_of(u32 device, u32 group, u32 dimension) const;

    // Of recorded runs alone, in recorded.cpp.
    struct Records;
    void record_send(u32 message);
    void record_offer(u32 message);
    void record_transmission(u32 link, u32 message);
    void record_free_link(u32 link);

    const Grid& grid_;
    TimeScale scale_;
    EventQueue& queue_;
    std::vector<u32> first_link_;    // of each dimension
    std::vector<u32> first_switch_;  // of each dimension: what the records call its first switch
    std::vector<Link> links_;
    std::vector<Times> times_;  // by dimension
    Pool<Transit> transits_;
    std::shared_ptr<Records> records_;
};

}  // namespace yantra
