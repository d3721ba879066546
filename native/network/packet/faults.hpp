// Faults: links that fail, return or change their rate. A link that goes down loses what is on it,
// waits for it, and comes until others know. Trade-off: a sender whose ways are all down waits, and
// begins again with a fresh congestion control.
#pragma once

#include "network/packet/common.hpp"
#include "network/packet/transmitter.hpp"

namespace yantra::packet {

class Recovery;

struct Lost {
    u64 packets = 0;   // of data
    u64 bytes = 0;     // of their payload, which is sent again
};

class Faults {
public:
    Faults(Common& all, Queues& queues, Watch& watch, Transmitter& transmitter, Switches& switches, Hosts& hosts,
           Recovery& recovery)
        : all_(all),
          queues_(queues),
          watch_(watch),
          transmitter_(transmitter),
          switches_(switches),
          hosts_(hosts),
          recovery_(recovery) {}

    // 0: it is down.
    void change_link(LinkId link, u64 bits_per_s);
    // Call before the first flow for each rate that a link will have. Throws std::invalid_argument.
    void allow_rate(u64 bits_per_s) {
        all_.ports.table_of(bits_per_s);
        all_.can_lose = true;
    }
    bool has_taken(const Packet& packet) const {
        return all_.links_change && packet.failures != all_.ports[packet.link].failures;
    }
    void lose(PacketId packet);
    const Lost& lost() const { return lost_; }

    // A sender that was cut begins again.
    void take_ways(SenderId sender, const FlowSpec& ways);
    void cut(SenderId sender);
    bool is_cut(SenderId sender) const { return all_.senders[sender].is_cut; }
    u32 cut_senders() const { return all_.progress.cut; }
    void go_on_again(SenderId sender);

private:
    void flush(PortId port);

    Common& all_;
    Queues& queues_;
    Watch& watch_;
    Transmitter& transmitter_;
    Switches& switches_;
    Hosts& hosts_;
    Recovery& recovery_;
    Lost lost_;
};

}  // namespace yantra::packet
