// Recovery: how losses are found, and what is sent again (network/packet/recovery_kind.hpp).
#pragma once

#include "network/packet/common.hpp"
#include "network/packet/transmitter.hpp"

namespace yantra::packet {

class Recovery {
public:
    Recovery(Common& all, Transmitter& transmitter, Hosts& hosts)
        : all_(all), transmitter_(transmitter), hosts_(hosts) {}

    void receive_in_order(PacketId packet);
    void receive_in_any_order(PacketId packet);

    // Returns the bytes newly known to have arrived.
    u64 note_answer(SenderId sender, const Packet& answer);
    // Returns whether there are any.
    bool find_lost(SenderId sender);
    void go_back(Sender& sender) {
        sender.resent += sender.next - sender.acknowledged;
        sender.next = sender.acknowledged;
    }
    void lose_under_way(SenderId sender);
    // It then counts as under way.
    u64 next_lost(Sender& sender);

    void expect_answer(SenderId sender);
    void time_out(SenderId sender);
    void begins_to_lose();

private:
    bool is_due(Scoreboard& board, const Packet& of) const;
    void lose_all(SenderId sender);

    Common& all_;
    Transmitter& transmitter_;
    Hosts& hosts_;
};

}  // namespace yantra::packet
