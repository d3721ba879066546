// Recovery: how losses are found, by what answers say and by silence, and what is sent again
// (network/packet/recovery_kind.hpp).
#pragma once

#include "network/packet/common.hpp"
#include "network/packet/transmitter.hpp"

namespace yantra::packet {

class Recovery {
public:
    Recovery(Common& all, Transmitter& transmitter, Hosts& hosts)
        : all_(all), transmitter_(transmitter), hosts_(hosts) {}

    // Of the receiver: whether a packet is new, and the answer.
    void receive_in_order(PacketId packet);
    void receive_in_any_order(PacketId packet);

    // Of the sender: what an answer says beyond its cumulative part. Returns the bytes that were not known to have
    // arrived.
    u64 note_answer(Sender& sender, const Packet& answer);
    // Packets that others have overtaken by more than is usual. Returns whether there are any; brings what is under
    // way up to date.
    bool find_lost(SenderId sender);
    // A NACK: all from the gap on is sent again.
    void go_back(Sender& sender) {
        sender.resent += sender.next - sender.acknowledged;
        sender.next = sender.acknowledged;
    }
    // All that is not known to have arrived is sent again.
    void lose_under_way(SenderId sender);
    // Where the next packet to be sent again begins; from then on it is under way.
    u64 next_lost(Sender& sender);

    // Silence is counted from now on.
    void expect_answer(SenderId sender);
    void time_out(SenderId sender);
    // The first packet is lost that no rule foresaw: from now on silence may be another.
    void begins_to_lose();

private:
    void lose_all(SenderId sender);

    Common& all_;
    Transmitter& transmitter_;
    Hosts& hosts_;
};

}  // namespace yantra::packet
