// Packet network: a run's messages as packets under congestion control
// (network/packet/simulator.hpp). A message has arrived with its last byte, and left with the last
// ACK. Formula tiers add only latency. Trade-off: two events a packet and hop.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/clock.hpp"
#include "base/never.hpp"
#include "base/pool.hpp"
#include "base/variant.hpp"
#include "engine/engine.hpp"
#include "network/formula_tiers.hpp"
#include "network/link_changes.hpp"
#include "network/network.hpp"
#include "network/packet/followers.hpp"
#include "network/packet/islands.hpp"
#include "network/packet/simulator.hpp"
#include "network/packet_clock.hpp"
#include "network/packet_routes.hpp"
#include "network/ways.hpp"
#include "network/ways_probe.hpp"

namespace yantra::inline YANTRA_RUN {

class PacketNetwork final : public NetworkModel, private packet::Observer {
public:
    // Throws std::invalid_argument or Unsupported.
    explicit PacketNetwork(const NetworkSetup& setup);

    void send(const Message& message, Notice arrived, Notice departed) override;
    void handle(const Event& event) override;
    std::vector<LinkRecord> links() const override { return ways_.records(use()); }
    std::vector<LinkUse> dimensions() const override { return ways_.uses(use()); }
    NetworkReport report() override;
    void ranks_end() override;

private:
    static constexpr u64 never_wakes = ~u64{0};

    enum Kind : u32 { wakes, changes, known, by_formula };

    struct NextWake {
        u64 tick = never_wakes;
        u32 number = 0;
        u64 handled = 0;   // of its own events, as many as the threads make them
    };
    struct Parting {
        packet::FabricSpec fabric;
        packet::Partition of;
        std::unique_ptr<packet::Followers> others = nullptr;   // that have the parts but the first
    };
    struct Progress {
        u64 under_way = 0;          // messages, as packets
        u64 since_look = 0;
        bool ranks_ended = false;   // since the last message
    };
    struct OpenSpan {
        u32 message = none;   // of the recording
        u64 start = 0;
        u64 end = 0;
        u64 bytes = 0;
    };
    struct Transit {
        Notice arrived;
        Notice departed;
        u64 bytes = 0;
        u32 from = 0;            // places
        u32 to = 0;
        u32 source = 0;          // ranks
        u32 destination = 0;
        PacketRoutes::OfPair routes;
        u64 waits_since = never;     // tick, for a link that is down
        bool was_rerouted = false;
        bool has_waited = false;
    };

    Parting parting(const NetworkSetup& setup);
    const PacketRoutes::OfPair& routes_between(u32 from, u32 to);
    void reach(u64 tick);
    void drain();
    void crosses(u32 number, u32 link, u64 start, u64 end, u32 payload) override;
    void end_span(u32 link);
    void end_spans();
    void catch_up();
    std::string why_not_remember() const;
    std::string why_not_skip() const;
    void run_to_now();
    void wake_to_now();
    void wake();
    u16 order_of(u32 rank) const { return rank < orders_.size() ? orders_[rank] : u16{0xffff}; }
    void send_by_formula(u32 number);
    void send_packets(u32 number);
    void received(u32 number) override;
    void arrive(u32 number);
    void completed(u32 number) override;
    std::vector<LinkUse> use() const;
    void look() const;
    // In packet_network_changes.cpp.
    void check_changes(const std::vector<LinkChange>& changes);
    void change_links();
    void reroute();
    void send_held();
    void watch(u32 number);
    bool is_cut(const PacketRoutes::OfPair& routes) const;
    bool crosses_avoided(const PacketRoutes::OfPair& routes) const;

    const packet::Settings settings_;
    const FabricGraph& graph_;
    Ways ways_;
    TimeScale scale_;
    EventQueue& queue_;
    WaysProbe probe_;
    const FormulaTiers tiers_;
    Parting parting_;
    LinkChanges changes_;
    const std::vector<u16> orders_;   // of ranks; not of switches that take part
    const PacketClock clock_;
    packet::Islands islands_;
    packet::Simulator& simulator_;    // of all, or of the first part or island
    PacketRoutes routes_;
    Pool<Transit> transits_;
    std::vector<OpenSpan> open_;   // by link, of a recorded run
    std::vector<u32> held_;        // messages without a way when sent
    Progress progress_;
    NextWake next_wake_;
    Disturbance disturbance_;
};

}  // namespace yantra
