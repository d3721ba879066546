// A list of flows as packets: when each ends, and what queues, pauses and marks it met.
//
// The rules are those of network/packet/simulator.hpp. Flows of the same start begin in list order.
// A step is an event.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "base/vector.hpp"
#include "network/flow/flow_run.hpp"
#include "network/packet/simulator.hpp"

namespace yantra::packet {

// Columns by flow beyond those of FlowList; each may be empty.
struct PacketColumns {
    Vector<u64> first_ack_hop;
    Vector<u32> ack_hops;
    Vector<u32> after;       // the flow whose end at its sender this one waits for; or none
    Vector<double> delay_ns; // from that end on
    // Of sprayed flows: so many ways of each, flow by flow, the first being that of the list. 0:
    // one way.
    u32 ways = 0;
    Vector<u64> first_way_hop;
    Vector<u32> way_hops;
};

// A queue over time: bytes that wait at a port, at every multiple of an interval.
struct QueueSamples {
    u32 link = none;
    double every_ns = 0.0;
    Vector<u64> bytes;
};

class PacketRun : public FlowRun {
public:
    using FlowRun::FlowRun;
    virtual const Simulator& simulator() const = 0;
    virtual std::shared_ptr<packet::Seen> seen() = 0;
    // By flow: when it began, and when its sender had the last ACK.
    virtual const Vector<double>& start_ns() const = 0;
    virtual const Vector<double>& completed_ns() const = 0;
    virtual const QueueSamples& samples() const = 0;
    // Why flows have not ended, if no event is left or there was no progress for long.
    virtual const std::optional<Stuck>& stuck() const = 0;
};

// Throws std::invalid_argument for an invalid flow, link or setting.
std::unique_ptr<PacketRun> send_packets(FlowList flows, PacketColumns columns, LinkSpeeds links,
                                        const FabricSpec& fabric, const Settings& settings, QueueSamples samples);

}  // namespace yantra::packet
