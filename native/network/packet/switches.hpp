// Switches: what devices do with packets that go on: buffers, pauses, marks, telemetry.
#pragma once

#include <string>

#include "base/vector.hpp"
#include "engine/rng.hpp"
#include "network/packet/common.hpp"
#include "network/packet/shared_buffer.hpp"
#include "network/packet/transmitter.hpp"

namespace yantra::packet {

class Recovery;

class Switches {
public:
    // std::invalid_argument for a buffer that its ports' head room fills.
    Switches(Common& all, const FabricSpec& fabric, Watch& watch, Transmitter& transmitter, Recovery& recovery,
             Faults& faults);

    // A switch, or a host on the way, passes a packet on.
    void forward(u32 packet);
    // A packet leaves the queue of a switch: its buffer is free, it is marked, its neighbour may go on.
    void depart(u32 port, u32 packet);
    // A packet is lost that waited at a port: its buffer is free, and its neighbour may go on.
    void leave_unsent(u32 port, u32 packet);
    // What the other end of its link says to a port.
    void obey(u32 port, PacketKind kind);
    void end_pause(u32 port);
    u64 buffer_used(u32 device) const { return buffers_[device].used; }

private:
    void add_buffer(const FabricSpec& fabric, u32 device, const Vector<u32>& incoming);
    void check_buffer(const std::string& name, u32 ports, u64 buffer, u64 needed) const;
    void drop(u32 packet);
    void send_pause(u32 port, PacketKind kind);
    bool draws_mark(const Port& port, u32 number, const Packet& packet);
    double draw(u32 number, const Packet& packet, u64 state);
    void write_telemetry(u32 port, u32 packet);
    void write_power(Port& port, Packet& packet);

    Common& all_;
    Watch& watch_;
    Transmitter& transmitter_;
    Recovery& recovery_;
    Faults& faults_;
    Vector<SharedBuffer> buffers_;   // by device
    Vector<Rng> random_;             // by port
};

}  // namespace yantra::packet
