// Fabric queues: the store-and-forward network over a fabric. Whole messages, one FIFO per directed link.
//
// The rules of network/store_and_forward.hpp, each hop latency + size / bandwidth of its link, along the path
// that the routing says when a message is sent. Where the routing goes by packets, the message is one packet.
// Costs two events per hop, and the path of every message that is under way.
#pragma once

#include <deque>
#include <vector>

#include "base/clock.hpp"
#include "base/pool.hpp"
#include "base/variant.hpp"
#include "engine/engine.hpp"
#include "network/network.hpp"
#include "network/ways.hpp"
#include "network/ways_probe.hpp"

namespace yantra::inline YANTRA_RUN {

class FabricQueues final : public NetworkModel, private LinkLoads {
public:
    FabricQueues(const Model& model, const Grid& grid, Engine& engine);

    void send(const Message& message, Notice arrived, Notice departed) override;
    void handle(const Event& event) override;
    std::vector<LinkRecord> links() const override { return ways_.records(use_); }
    std::vector<LinkUse> dimensions() const override { return ways_.uses(use_); }
    std::vector<u64> busiest() const override { return ways_.busiest(use_); }

private:
    enum Kind : u32 { hop_done, link_free };

    struct Transit {
        u64 bytes = 0;
        std::vector<u32> path;
        u32 hop = 0;
        Notice arrived;
        Notice departed;
    };
    struct Queue {
        std::deque<u32> waiting;     // transits
        u64 waiting_bytes = 0;
        bool busy = false;
    };

    // Bytes that wait, over the rate: how long a message would.
    double load(u32 link) const override {
        return static_cast<double>(queues_[link].waiting_bytes) / ways_.bytes_per_ns(link);
    }
    void offer(u32 transit);
    void transmit(u32 link, u32 transit);

    Ways ways_;
    TimeScale scale_;
    EventQueue& queue_;
    WaysProbe probe_;
    std::vector<Queue> queues_;    // by link
    std::vector<LinkUse> use_;
    Pool<Transit> transits_;
    u32 sent_ = 0;                 // messages: the packet number of the next
};

}  // namespace yantra
