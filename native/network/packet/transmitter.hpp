// Transmitter: what leaves each port next, and how long it holds the link.
#pragma once

#include "network/packet/common.hpp"
#include "network/packet/queues.hpp"
#include "network/packet/watch.hpp"

namespace yantra::packet {

class Faults;
class Hosts;
class Switches;

class Transmitter {
public:
    Transmitter(Common& all, Queues& queues, Watch& watch, Switches& switches, Hosts& hosts, Faults& faults)
        : all_(all), queues_(queues), watch_(watch), switches_(switches), hosts_(hosts), faults_(faults) {}

    bool is_control(const Packet& packet, bool at_host) const {
        if (packet.kind >= PacketKind::pause || packet.is_trimmed) {
            return true;
        }
        return packet.kind != PacketKind::data && all_.settings.acks_first &&
               (at_host || !all_.settings.has(Quirk::acks_among_data));
    }
    void enqueue(PortId port, PacketId packet, PacketQueue& queue);
    void transmit(PortId port);
    void is_free(PortId port) {
        all_.ports[port].is_busy = false;
        transmit(port);
    }
    void begin(PortId port, PacketId packet);
    void crosses_by_formula(LinkId link, u64 bytes, u64 tick);

private:
    void tell_crossing(PortId number, const Packet& of, u64 ticks);
    void is_busy_by_formula(Port& port, u64 since, u64 ticks);

    Common& all_;
    Queues& queues_;
    Watch& watch_;
    Switches& switches_;
    Hosts& hosts_;
    Faults& faults_;
};

}  // namespace yantra::packet
