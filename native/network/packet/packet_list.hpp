// A list of flows as packets (network/packet/simulator.hpp); flows of the same start begin in list
// order. A step is an event.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "network/flow/flow_run.hpp"
#include "network/packet/partition.hpp"
#include "network/packet/simulator.hpp"

namespace yantra::packet {

// Each may be empty.
struct PacketColumns {
    std::vector<u64> first_ack_hop;
    std::vector<u32> ack_hops;
    std::vector<u32> after;       // the flow whose end at its sender this one waits for; or none
    std::vector<double> delay_ns; // from that end on
    // Flow by flow, the first being that of the list. 0: one way.
    u32 ways = 0;
    std::vector<u64> first_way_hop;
    std::vector<u32> way_hops;
    std::shared_ptr<Chooser> chooser = nullptr;   // packets choose at each device
};

// Bytes that wait at a port, at every multiple of an interval.
struct QueueSamples {
    u32 link = none;
    double every_ns = 0.0;
    std::vector<u64> bytes;
};

struct PacketCounts {
    Totals totals;
    u64 events = 0;
    double ticks_per_ns = 1.0;
    std::vector<PortCount> ports;   // by link
};

class PacketRun : public FlowRun {
public:
    using FlowRun::FlowRun;
    virtual PacketCounts counts() const = 0;
    // A thread for each part.
    virtual const Partition& partition() const = 0;
    virtual std::shared_ptr<packet::Seen> seen() = 0;
    // When its sender had the last ACK, too.
    virtual const std::vector<double>& start_ns() const = 0;
    virtual const std::vector<double>& completed_ns() const = 0;
    virtual const QueueSamples& samples() const = 0;
    virtual const std::optional<Stuck>& stuck() const = 0;
};

// Throws std::invalid_argument.
std::unique_ptr<PacketRun> send_packets(FlowList flows, PacketColumns columns, LinkSpeeds links,
                                        const FabricSpec& fabric, const Settings& settings, QueueSamples samples,
                                        const Threads& threads = {});

}  // namespace yantra::packet
