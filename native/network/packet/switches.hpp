// Switches: buffers, pauses, marks and telemetry of packets passed on.
#pragma once

#include <string>
#include <vector>

#include "engine/rng.hpp"
#include "network/packet/common.hpp"
#include "network/packet/shared_buffer.hpp"
#include "network/packet/transmitter.hpp"

namespace yantra::packet {

class Recovery;

class Switches {
public:
    // Throws std::invalid_argument for a buffer that head room fills.
    Switches(Common& all, const FabricSpec& fabric, Watch& watch, Transmitter& transmitter, Recovery& recovery,
             Faults& faults);

    void forward(PacketId packet);
    void depart(PortId port, PacketId packet);
    void leave_unsent(PortId port, PacketId packet);
    void obey(PortId port, PacketKind kind);
    void end_pause(PortId port);
    u64 buffer_sharable(u32 device) const { return buffers_[device].sharable; }
    u64 draws() const { return draws_; }   // so far

private:
    void add_buffer(const FabricSpec& fabric, u32 device, const std::vector<LinkId>& incoming);
    void check_buffer(const std::string& name, u32 ports, u64 buffer, u64 needed) const;
    void drop(PacketId packet);
    void trim(LinkId to, PacketId packet);
    void send_pause(PortId port, PacketKind kind);
    void start_pause(PortId port);
    bool draws_mark(const Port& port, PortId number, const Packet& packet);
    double draw(PortId number, const Packet& packet, u64 state);
    void write_telemetry(PortId port, PacketId packet);
    void write_power(Port& port, Packet& packet);

    Common& all_;
    Watch& watch_;
    Transmitter& transmitter_;
    Recovery& recovery_;
    Faults& faults_;
    std::vector<SharedBuffer> buffers_;   // by device
    IdVector<PortId, Rng> random_;
    u64 draws_ = 0;
};

}  // namespace yantra::packet
