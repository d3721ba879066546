// Fabric queues: store-and-forward over a fabric: whole messages, one FIFO per directed link, on
// the path that the routing gives at sending. Links by formula (network/formula_tiers.hpp) have no
// queue. Trade-off: two events per hop.
#pragma once

#include <deque>
#include <vector>

#include "base/clock.hpp"
#include "base/never.hpp"
#include "base/pool.hpp"
#include "base/variant.hpp"
#include "engine/engine.hpp"
#include "network/formula_tiers.hpp"
#include "network/link_changes.hpp"
#include "network/network.hpp"
#include "network/ways.hpp"
#include "network/ways_probe.hpp"

namespace yantra::inline YANTRA_RUN {

class FabricQueues final : public NetworkModel, private LinkLoads {
public:
    explicit FabricQueues(const NetworkSetup& setup);

    void send(const Message& message, Notice arrived, Notice departed) override;
    void handle(const Event& event) override;
    std::vector<LinkRecord> links() const override { return ways_.records(use_); }
    std::vector<LinkUse> dimensions() const override { return ways_.uses(use_); }
    NetworkReport report() override { return {ways_.busiest(use_), disturbance_, transits_.taken(), nullptr}; }

private:
    enum Kind : u32 { hop_done, link_free, changes, known, crossed, freed };

    struct Transit {
        u64 bytes = 0;
        std::vector<u32> path;
        u32 hop = 0;
        Notice arrived;
        Notice departed;
        u32 to = none;               // place
        u32 packet = 0;
        u64 waits_since = never;     // tick, for a link that is down
        bool was_rerouted = false;
        bool has_waited = false;
    };
    struct Crossing {
        u32 transit = none;
        u32 link = none;
        u64 since = 0;         // tick
        u64 ends = 0;          // tick at which the link is free
        double left = 0.0;     // bytes at `since`,
        u64 left_bytes = 0;    // and as counted
        Notice departed;
        u32 events = 0;
        bool is_void = false;  // it was stopped
    };
    struct Queue {
        std::deque<u32> waiting;     // transits
        u64 waiting_bytes = 0;
        bool busy = false;
        u32 crossing = none;         // where links change: what crosses it, or
        u32 stopped = none;          // is stopped because it is down
    };

    // The time that waiting bytes take.
    double load(u32 link) const override {
        return static_cast<double>(queues_[link].waiting_bytes) / ways_.bytes_per_ns(link);
    }
    void offer(u32 transit);
    void transmit(u32 link, u32 transit);
    void free_link(u32 link);
    void cross_by_formula(u32 transit);
    void arrive(u32 transit);
    // In fabric_queues_changes.cpp.
    void change_links();
    void set_rate(u32 link, double bytes_per_ns);
    void cross(const Crossing& crossing);
    void stop(u32 link);
    void is_through(u32 crossing);
    void end_event(u32 crossing);
    void wait(u32 transit);
    void wait_no_more(u32 transit);
    void reroute();
    bool take_another_way(u32 transit);

    Ways ways_;
    TimeScale scale_;
    EventQueue& queue_;
    WaysProbe probe_;
    const FormulaTiers tiers_;
    LinkChanges changes_;
    std::vector<double> rates_;    // by link, bytes per ns; empty if none changes
    std::vector<Queue> queues_;    // by link
    std::vector<LinkUse> use_;
    std::vector<u64> busy_until_;  // by link, tick; empty if none goes by formula
    Pool<Transit> transits_;
    Pool<Crossing> crossings_;
    std::vector<u32> path_;
    u64 under_way_ = 0;            // messages
    u32 sent_ = 0;                 // messages: the packet number of the next
    Disturbance disturbance_;
};

}  // namespace yantra
