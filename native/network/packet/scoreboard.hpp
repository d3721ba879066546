// Scoreboard: what each end of a flow has beyond the first gap. A packet is lost when one
// `reordering` packets further has arrived (Mittal et al., "Revisiting network support for RDMA",
// SIGCOMM 2018, section 3.1; RFC 6675), or by silence.
#pragma once

#include <algorithm>
#include <functional>
#include <vector>

#include "network/packet/stretches.hpp"

namespace yantra::packet {

struct Scoreboard {
    Stretches received;      // by the receiver, beyond what it expects next
    Stretches told;          // that the sender knows of, beyond what is acknowledged
    std::vector<u64> lost;   // where packets to be sent again begin, the next one last
    std::vector<u8> to_skip;      // by way: turns to be left out, for what ACKs said of it
    u32 turn = 0;            // counts the turns of ways
    u64 told_bytes = 0;      // with `ack_every`: received, as the sender knows
    u64 unanswered = 0;      // bytes received since the last ACK
    bool has_answered = false;
    bool was_asked = false;  // for an ACK when nothing is missing
    u64 looked_to = 0;       // all missing packets before it were sent again, or are in `lost`

    void clear() {
        received.clear();
        told.clear();
        lost.clear();
        to_skip.clear();
        turn = 0;
        told_bytes = 0;
        unanswered = 0;
        has_answered = was_asked = false;
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
    void forget_arrived(u64 acknowledged) {
        erase_if(lost, [this, acknowledged](u64 sequence) { return sequence < acknowledged || told.has(sequence); });
    }
};

}  // namespace yantra::packet
