// Hosts: the two ends of flows: packets made and paced, received and answered.
#pragma once

#include "base/vector.hpp"
#include "network/packet/common.hpp"
#include "network/packet/nic.hpp"
#include "network/packet/transmitter.hpp"

namespace yantra::packet {

class Recovery;

class Hosts {
public:
    Hosts(Common& all, Watch& watch, Transmitter& transmitter, Recovery& recovery, Switches& switches);

    void send(const FlowSpec& flow, u64 tick);
    u16 order_of(u32 waiting) const { return waiting_[waiting].order; }
    // A flow that was sent begins.
    void start(u32 waiting);
    // The port of a host is free: what it relays and its own flows take turns.
    void transmit(u32 port);
    // Who sends next there, or none; a guess.
    u32 likely_next(u32 port) const { return nics_[all_.ports[port].nic].likely_next(all_.senders.ready[port]); }

    void receive_data(u32 packet);
    void receive_opening(u32 packet);
    void receive_ack(u32 packet);
    // The packet goes back as the answer.
    void answer(Sender& to, u32 packet, PacketKind kind, u32 beyond = none);
    void has_all(const Sender& receiver);

    // A packet without payload goes ahead, and data follows its answer (RFC 9293, section 3.5, without the third packet).
    void connect(u32 sender);
    // It goes another way from now on.
    void set_ways(Sender& sender, const FlowSpec& ways);
    void move_to(u32 sender, u32 port);
    void enlist(u32 sender) { nic_of(all_.senders[sender]).add(all_.senders, sender); }
    void delist(u32 sender);

private:
    Nic& nic_of(const Sender& sender) { return nics_[all_.ports[sender.port].nic]; }
    void wake_later(u32 port);
    u32 next_packet(u32 sender);
    void set_pace(Sender& sender) const;
    u32 next_way(Sender& sender);
    void go_on(u32 sender, u64 asked_at);
    void complete(u32 sender);

    Common& all_;
    Watch& watch_;
    Transmitter& transmitter_;
    Recovery& recovery_;
    Switches& switches_;
    Vector<Nic> nics_;
    Pool<FlowSpec> waiting_;   // flows to be sent
};

}  // namespace yantra::packet
