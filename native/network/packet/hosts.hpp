// Hosts: the two ends of flows.
#pragma once

#include <memory>
#include <vector>

#include "network/packet/common.hpp"
#include "network/packet/credits.hpp"
#include "network/packet/nic.hpp"
#include "network/packet/transmitter.hpp"

namespace yantra::packet {

class Recovery;

class Hosts {
public:
    Hosts(Common& all, Watch& watch, Transmitter& transmitter, Recovery& recovery, Switches& switches);

    void send(const FlowSpec& flow, u64 tick);
    u64 place_of(const FlowSpec& flow) const {
        return place_in_tick(flow.order, 0, all_.routes[flow.data_route]);
    }
    FlowSpec& waiting(u32 number) { return waiting_[number]; }
    void start(u32 waiting);
    void transmit(PortId port);
    SenderId likely_next(PortId port) const {
        return nics_[all_.ports[port].nic].likely_next(all_.senders.ready[port]);
    }

    Nic& nic(PortId port) { return nics_[all_.ports[port].nic]; }

    void receive_data(PacketId packet);
    void receive_opening(PacketId packet);
    void receive_ack(PacketId packet);
    void answer(const Sender& to, PacketId packet, PacketKind kind, u32 beyond = none);
    void has_all(const Sender& receiver);

    // Credits, if receivers grant any.
    void grant(PortId port);
    void was_silent(SenderId sender);
    void give(const Sender& to, SenderId sender, u64 total);

    // RFC 9293, section 3.5, without the third packet.
    void connect(SenderId sender);
    void set_ways(Sender& sender, const FlowSpec& ways);
    void move_to(SenderId sender, PortId port);
    void enlist(SenderId sender) { nic_of(all_.senders[sender]).add(all_.senders, sender); }
    void delist(SenderId sender);

private:
    Nic& nic_of(const Sender& sender) { return nics_[all_.ports[sender.port].nic]; }
    void wake_later(PortId port);
    PacketId next_packet(SenderId sender);
    void set_pace(Sender& sender) const;
    u32 next_way(Sender& sender);
    void go_on(SenderId sender, u64 asked_at);
    void complete(SenderId sender);

    Common& all_;
    Watch& watch_;
    Transmitter& transmitter_;
    Recovery& recovery_;
    Switches& switches_;
    std::vector<Nic> nics_;
    Pool<FlowSpec> waiting_;   // flows to be sent
    std::unique_ptr<Credits> credits_;   // null: receivers grant none
};

}  // namespace yantra::packet
