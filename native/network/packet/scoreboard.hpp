// Scoreboard: of one flow whose receiver takes packets in any order, what each end has beyond the first gap.
//
// The receiver keeps what came out of order; the sender what it was told of, and which packets it takes for lost. A packet
// is lost when one that is `reordering` packets further has arrived, or by silence (Mittal et al., "Revisiting network
// support for RDMA", SIGCOMM 2018, section 3.1: selective retransmission; RFC 6675 with more than one packet of
// patience). One that was sent again and is lost again is found by silence. Switches cut no packets to their headers.
// Only such flows have one, so all others stay small.
#pragma once

#include <algorithm>
#include <functional>

#include "base/vector.hpp"
#include "network/packet/stretches.hpp"

namespace yantra::packet {

struct Scoreboard {
    Stretches received;      // by the receiver, beyond what it expects next
    Stretches told;          // to the sender, beyond what is acknowledged
    Vector<u64> lost;   // where packets to be sent again begin, the next last
    Vector<u8> was_marked;   // by way, that its last ACK told of a mark
    u32 turn = 0;            // of ways
    u64 looked_to = 0;       // all packets before it that are missing were sent again, or are in `lost`

    void clear() {
        received.clear();
        told.clear();
        lost.clear();
        was_marked.clear();
        turn = 0;
        looked_to = 0;
    }
    // Returns whether it is new.
    bool add_lost(u64 sequence) {
        const auto at = std::lower_bound(lost.begin(), lost.end(), sequence, std::greater<>());
        if (at != lost.end() && *at == sequence) {
            return false;
        }
        lost.insert(at, sequence);
        return true;
    }
    // Packets that have arrived after all.
    void forget_arrived(u64 acknowledged) {
        erase_if(lost, [this, acknowledged](u64 sequence) { return sequence < acknowledged || told.has(sequence); });
    }
};

}  // namespace yantra::packet
