// A list of flows as packets: when each is through, and what queues, pauses and marks it met.
//
// The rules of network/packet/simulator.hpp. A flow may begin when another has ended, some time later. Flows of the same
// start begin in the order of the list. A step is an event.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "base/vector.hpp"
#include "network/flow/flow_run.hpp"
#include "network/packet/simulator.hpp"

namespace yantra::packet {

// Columns by flow that a list of packets has beyond those of FlowList; empty for none.
struct PacketColumns {
    Vector<u64> first_ack_hop;
    Vector<u32> ack_hops;
    Vector<u32> after;       // flow whose end at its sender this one waits for; none
    Vector<double> delay_ns; // from then on
    // Of flows whose packets are sprayed: so many ways of each, flow by flow, the first that of the list. 0: one way.
    u32 ways = 0;
    Vector<u64> first_way_hop;
    Vector<u32> way_hops;
};

// Of a queue over time: bytes that wait at a port, at every multiple of an interval.
struct QueueSamples {
    u32 link = none;
    double every_ns = 0.0;
    Vector<u64> bytes;
};

class PacketRun : public FlowRun {
public:
    using FlowRun::FlowRun;
    virtual const Simulator& simulator() const = 0;
    // What there is to look at, up to now.
    virtual std::shared_ptr<packet::Seen> seen() = 0;
    // By flow: when it began, and when its sender had the last ACK.
    virtual const Vector<double>& start_ns() const = 0;
    virtual const Vector<double>& completed_ns() const = 0;
    virtual const QueueSamples& samples() const = 0;
    // Why flows have not ended, where the run is over and some have not, or it went on for long without progress.
    virtual const std::optional<Stuck>& stuck() const = 0;
};

// std::invalid_argument for a flow, a link or settings that are none.
std::unique_ptr<PacketRun> send_packets(FlowList flows, PacketColumns columns, LinkSpeeds links,
                                        const FabricSpec& fabric, const Settings& settings, QueueSamples samples);

}  // namespace yantra::packet
