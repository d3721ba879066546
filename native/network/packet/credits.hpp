// Credits: receivers grant what senders may send, so that what comes to one together fits its link
// (RCCC of the Ultra Ethernet Specification 1.0, 2025; constants as its workgroup's open simulator has
// them, github.com/ultraethernet/uet-htsim).
//
// A message begins with `credit_window` bandwidth-delay products of credit that nobody granted; the
// first answer ends what is left of it. Each of its packets says up to where it asks: what is left to
// send, at most a window, less the credit it has, shared among the senders of its NIC. A receiver's
// port grants `credits` packets at a time, one message after another, `credit_rate` of its rate; when
// none asks for more it grants up to a window beyond what was asked. A packet is sent while any credit
// is left. Law: messages into one port share it, and its queue holds what was not granted.
//
// Trade-off: bytes are those of payloads, and both ends of a flow have one row, so one thread has it.
// After a silence a sender without credit sends one packet, where the specification sends a request.
#pragma once

#include <deque>
#include <optional>

#include "network/packet/common.hpp"

namespace yantra::packet {

class Hosts;

class Credits {
public:
    Credits(Common& all, Hosts& hosts);

    // The sender's end.
    void begin(SenderId sender);
    // Before it leaves.
    void sent(SenderId sender, PacketId packet);
    // Other than by a grant.
    void answered(SenderId sender);
    // `total`: bytes since it began.
    void granted(SenderId sender, u64 total);
    void was_silent(SenderId sender);
    // A NIC: what it sends shares what it asks for.
    void leave(SenderId sender);
    void join(SenderId sender) { apply(sender); }

    // The receiver's end, of a packet or its header.
    void came(PacketId packet);
    // Its timer is over.
    void grant(PortId port);

private:
    struct Flow {
        i64 left = 0;             // bytes of credit
        u64 granted = 0;          // in all, as the sender knows
        bool is_unasked = true;   // nobody granted what is left
        bool wants = false;       // counts among those of its NIC
        u64 asked = 0;            // in all, as the receiver knows
        u64 given = 0;
        bool waits = false;       // for what it asked for
    };
    struct Name {
        SenderId sender;
        u32 serial = 0;
    };
    struct Granting {
        std::deque<Name> waiting;   // for what they asked for
        std::deque<Name> sated;
        bool rests = false;         // until its timer is over
    };

    u64 most(const Sender& sender) const;
    u64 to_send(const Sender& sender) const;
    static void lapse(Flow& of);
    void apply(SenderId sender);
    std::optional<Name> next_of(std::deque<Name>& queue);
    u64 serve(const Name& of, bool is_asked, Granting& port);

    Common& all_;
    Hosts& hosts_;
    IdVector<SenderId, Flow> flows_;
    IdVector<PortId, u32> wanting_;   // senders with credit and something to send
    IdVector<PortId, Granting> ports_;
};

}  // namespace yantra::packet
