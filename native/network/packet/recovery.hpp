// Recovery: how losses are found, by answers and by silence, and what is sent again
// (network/packet/recovery_kind.hpp).
#pragma once

#include "network/packet/common.hpp"
#include "network/packet/transmitter.hpp"

namespace yantra::packet {

class Recovery {
public:
    Recovery(Common& all, Transmitter& transmitter, Hosts& hosts)
        : all_(all), transmitter_(transmitter), hosts_(hosts) {}

    // At the receiver: whether a packet is new, and the answer.
    void receive_in_order(PacketId packet);
    void receive_in_any_order(PacketId packet);

    // At the sender: what an answer says beyond its cumulative part. Returns the bytes newly known
    // to have arrived.
    u64 note_answer(Sender& sender, const Packet& answer);
    // Finds packets that others have overtaken by more than is usual, and updates what is under
    // way. Returns whether there are any.
    bool find_lost(SenderId sender);
    // A NACK: all from the gap on is sent again.
    void go_back(Sender& sender) {
        sender.resent += sender.next - sender.acknowledged;
        sender.next = sender.acknowledged;
    }
    // All that is not known to have arrived is sent again.
    void lose_under_way(SenderId sender);
    // Where the next packet to be sent again begins; it then counts as under way.
    u64 next_lost(Sender& sender);

    void expect_answer(SenderId sender);
    void time_out(SenderId sender);
    // The first packet is lost against expectation: from now on the time of silence may differ.
    void begins_to_lose();

private:
    void lose_all(SenderId sender);

    Common& all_;
    Transmitter& transmitter_;
    Hosts& hosts_;
};

}  // namespace yantra::packet
