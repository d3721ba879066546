// Selective repeat: packets taken in any order, and only what is lost sent again (network/packet/scoreboard.hpp).
#include <algorithm>

#include "network/packet/simulator.hpp"

namespace yantra::packet {

// The answer says up to where all is there, and how far beyond that this packet is.
void Simulator::receive_in_any_order(u32 packet) {
    const Packet& of = packets_[packet];
    Sender& to = senders_[of.sender];
    Stretches& received = senders_.board(to).received;
    const u64 sequence = of.sequence;
    const bool was_all = to.expected >= to.whole;
    if (sequence == to.expected && received.empty()) {
        to.expected += of.payload;
    } else if (sequence + of.payload > to.expected) {
        received.add(sequence, sequence + of.payload);
        if (received.all().front().from <= to.expected) {
            to.expected = received.all().front().to;
            received.forget_before(to.expected);
        }
    }
    const bool is_all = !was_all && to.expected >= to.whole;
    const u32 flow = to.flow;
    answer(to, packet, PacketKind::ack, sequence < to.expected ? none : static_cast<u32>(sequence - to.expected));
    if (is_all) {
        seen_->arrived(to, now());
        observer_.received(flow);
    }
}

// What an answer says beyond its cumulative part. Returns the bytes that were not known to have arrived.
u64 Simulator::note_answer(Sender& sender, const Packet& answer) {
    Scoreboard& board = senders_.board(sender);
    if (sender.is_sprayed) {
        board.was_marked.resize(sender.ways);
        if (answer.hops < sender.ways) {   // else it came by a way that it takes no more
            board.was_marked[answer.hops] = answer.is_marked;
        }
    }
    u64 newly = 0;
    if (answer.payload != none && settings_.recovery == Recovery::selective_repeat) {
        const u64 from = answer.sequence + answer.payload;
        if (from >= sender.acknowledged && from < sender.size) {
            newly += board.told.add(from, from + std::min<u64>(settings_.payload_bytes, sender.size - from));
        }
    }
    if (answer.sequence > sender.acknowledged) {
        const u64 before = board.told.bytes();
        board.told.forget_before(answer.sequence);
        newly += answer.sequence - sender.acknowledged - (before - board.told.bytes());
    }
    return newly;
}

// Packets that others have overtaken by more than is usual. Returns whether there are any; brings what is under way up
// to date.
bool Simulator::find_lost(u32 number) {
    Sender& sender = senders_[number];
    Scoreboard& board = senders_.board(sender);
    board.forget_arrived(sender.acknowledged);
    bool found = false;
    const u64 patience = u64{settings_.reordering} * settings_.payload_bytes;
    if (settings_.recovery == Recovery::selective_repeat && patience > 0 && !board.told.empty()) {
        const u64 end = board.told.end();
        u64 at = std::max(board.looked_to, sender.acknowledged);
        for (; at + patience < end; at += settings_.payload_bytes) {
            if (!board.told.has(at)) {
                senders_.resend(number, at);
                found = true;
            }
        }
        board.looked_to = at;
    }
    sender.resends = static_cast<u32>(board.lost.size());
    const u64 lost = std::min(u64{sender.resends} * settings_.payload_bytes, sender.next - sender.acknowledged -
                                                                                 board.told.bytes());
    sender.elsewhere = settings_.recovery == Recovery::selective_repeat ? board.told.bytes() + lost : 0;
    return found;
}

// Silence: all that is not known to have arrived is lost.
void Simulator::lose_all(u32 number) {
    Sender& sender = senders_[number];
    Scoreboard& board = senders_.board(sender);
    for (u64 at = sender.acknowledged; at < sender.next; at += settings_.payload_bytes) {
        if (!board.told.has(at)) {
            senders_.resend(number, at);
        }
    }
    board.looked_to = sender.next;
    find_lost(number);
}

// Ways take turns; one whose last ACK told of a mark is passed over once.
u32 Simulator::next_way(Sender& sender) {
    Scoreboard& board = senders_.board(sender);
    board.was_marked.resize(sender.ways);
    for (u32 tried = 0; tried < sender.ways; ++tried) {
        const u32 way = board.turn++ % sender.ways;
        if (board.was_marked[way] == 0) {
            return way;
        }
        board.was_marked[way] = 0;
    }
    return board.turn++ % sender.ways;
}

// Where the next packet to be sent again begins; from then on it is under way.
u64 Simulator::next_lost(Sender& sender) {
    Scoreboard& board = senders_.board(sender);
    const u64 sequence = board.lost.back();
    board.lost.pop_back();
    sender.resends = static_cast<u32>(board.lost.size());
    const u64 bytes = std::min<u64>(settings_.payload_bytes, sender.size - sequence);
    sender.elsewhere -= std::min(bytes, sender.elsewhere);
    return sequence;
}

}  // namespace yantra::packet
