#include "network/packet/recovery.hpp"

#include <algorithm>

#include "network/packet/hosts.hpp"

namespace yantra::packet {

namespace {

constexpr double nack_again_ns = 500000.0;
constexpr u64 silences_of_credit = 8;   // a receiver may serve many others first

}  // namespace

void Recovery::receive_in_order(PacketId packet) {
    Packet& of = all_.packets[packet];
    Sender& to = all_.senders.received_from(of.sender);
    if (of.sequence == to.expected) {
        to.expected += of.payload;
        const bool is_all = to.expected >= to.whole;
        hosts_.answer(to, packet, PacketKind::ack);
        if (is_all && !all_.settings.has(Quirk::late_receiver)) {
            hosts_.has_all(to);
        }
        return;
    }
    if (of.sequence > to.expected) {
        if (all_.now() >= to.nacks_again_at || to.last_nack != to.expected) {
            to.nacks_again_at = all_.now() + all_.senders.ticks(nack_again_ns);
            to.last_nack = to.expected;
            hosts_.answer(to, packet, PacketKind::nack);
            return;
        }
    } else if (!all_.settings.has(Quirk::no_retransmission_timer)) {
        hosts_.answer(to, packet, PacketKind::ack);   // its ACK was lost
        return;
    }
    all_.packets.give_back(packet);
}

void Recovery::receive_in_any_order(PacketId packet) {
    const Packet& of = all_.packets[packet];
    Sender& to = all_.senders.received_from(of.sender);
    Scoreboard& board = all_.senders.board(to);
    Stretches& received = board.received;
    const u64 sequence = of.sequence;
    const bool is_new = sequence + of.payload > to.expected && !received.has(sequence);
    if (of.is_trimmed) {
        const u32 beyond = is_new ? static_cast<u32>(sequence - to.expected) : none;
        hosts_.answer(to, packet, is_new ? PacketKind::nack : PacketKind::ack, beyond);
        return;
    }
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
    if (all_.settings.ack_every_bytes == 0) {
        const u32 beyond = sequence < to.expected ? none : static_cast<u32>(sequence - to.expected);
        hosts_.answer(to, packet, PacketKind::ack, beyond);
    } else if (!is_new || is_all || is_due(board, of)) {
        board.unanswered = 0;
        board.has_answered = true;
        hosts_.answer(to, packet, PacketKind::ack, static_cast<u32>(received.bytes()));
    } else {
        all_.packets.give_back(packet);
    }
    if (is_all) {
        hosts_.has_all(to);
    }
}

// Of a packet that is new.
bool Recovery::is_due(Scoreboard& board, const Packet& of) const {
    board.unanswered += of.payload;
    board.was_asked = board.was_asked || of.asks;
    const bool is_whole = board.was_asked && board.received.empty();
    board.was_asked = board.was_asked && !is_whole;
    return of.is_marked || of.asks || is_whole || !board.has_answered ||
           board.unanswered >= all_.settings.ack_every_bytes;
}

// Turns that a way misses for a mark, and for a packet trimmed on it.
u64 Recovery::note_answer(SenderId number, const Packet& answer) {
    constexpr u32 for_mark = 1;
    constexpr u32 for_trim = 4;
    constexpr u32 most_turns = 15;
    Sender& sender = all_.senders[number];
    Scoreboard& board = all_.senders.board(sender);
    const bool was_trimmed = answer.kind == PacketKind::nack;
    if (sender.is_sprayed) {
        board.to_skip.resize(sender.ways);
        if (answer.hops < sender.ways) {   // else its way is no longer used
            const u32 more = was_trimmed ? for_trim : answer.is_marked ? for_mark : 0;
            board.to_skip[answer.hops] = static_cast<u8>(std::min(board.to_skip[answer.hops] + more, most_turns));
        }
    }
    if (was_trimmed) {
        const u64 from = answer.sequence + answer.payload;
        if (from >= sender.acknowledged && from < sender.next) {
            all_.senders.resend(number, from);
        }
    }
    u64 newly = 0;
    if (all_.settings.ack_every_bytes != 0) {
        const u64 told = was_trimmed ? answer.sequence : answer.sequence + (answer.payload == none ? 0 : answer.payload);
        newly = told - std::min(told, board.told_bytes);
        board.told_bytes += newly;
        return newly;
    }
    if (!was_trimmed && answer.payload != none && all_.settings.recovery == RecoveryKind::selective_repeat) {
        const u64 from = answer.sequence + answer.payload;
        if (from >= sender.acknowledged && from < sender.size) {
            newly += board.told.add(from, from + std::min<u64>(all_.settings.payload_bytes, sender.size - from));
        }
    }
    if (answer.sequence > sender.acknowledged) {
        const u64 before = board.told.bytes();
        board.told.forget_before(answer.sequence);
        newly += answer.sequence - sender.acknowledged - (before - board.told.bytes());
    }
    return newly;
}

bool Recovery::find_lost(SenderId number) {
    Sender& sender = all_.senders[number];
    Scoreboard& board = all_.senders.board(sender);
    board.forget_arrived(sender.acknowledged);
    bool found = false;
    const u64 patience = u64{all_.settings.reordering} * all_.settings.payload_bytes;
    if (all_.settings.recovery == RecoveryKind::selective_repeat && patience > 0 && !board.told.empty()) {
        const u64 end = board.told.end();
        u64 at = std::max(board.looked_to, sender.acknowledged);
        for (; at + patience < end; at += all_.settings.payload_bytes) {
            if (!board.told.has(at)) {
                all_.senders.resend(number, at);
                found = true;
            }
        }
        board.looked_to = at;
    }
    sender.resends = static_cast<u32>(board.lost.size());
    const u64 sent = sender.next - sender.acknowledged;
    const u64 beyond = board.told_bytes - std::min(board.told_bytes, sender.acknowledged);
    const u64 told = all_.settings.ack_every_bytes == 0 ? board.told.bytes() : std::min(beyond, sent);
    const u64 lost = std::min(u64{sender.resends} * all_.settings.payload_bytes, sent - told);
    sender.elsewhere = all_.settings.recovery == RecoveryKind::selective_repeat ? told + lost : 0;
    return found;
}

void Recovery::lose_all(SenderId number) {
    Sender& sender = all_.senders[number];
    Scoreboard& board = all_.senders.board(sender);
    const bool counts = all_.settings.ack_every_bytes != 0;
    const Stretches& told = counts ? board.received : board.told;
    for (u64 at = sender.acknowledged; at < sender.next; at += all_.settings.payload_bytes) {
        if (!told.has(at) && (!counts || at >= sender.expected)) {
            all_.senders.resend(number, at);
        }
    }
    if (counts) {   // it asks, by a packet if need be: the receiver holds back an ACK, or the last one was lost
        board.told_bytes = sender.expected + board.received.bytes();
        if (board.lost.empty()) {
            all_.senders.resend(number, sender.acknowledged);
        }
    }
    board.looked_to = sender.next;
    find_lost(number);
}

u64 Recovery::next_lost(Sender& sender) {
    Scoreboard& board = all_.senders.board(sender);
    const u64 sequence = board.lost.back();
    board.lost.pop_back();
    sender.resends = static_cast<u32>(board.lost.size());
    const u64 bytes = std::min<u64>(all_.settings.payload_bytes, sender.size - sequence);
    sender.elsewhere -= std::min(bytes, sender.elsewhere);
    return sequence;
}

void Recovery::lose_under_way(SenderId number) {
    Sender& sender = all_.senders[number];
    if (all_.settings.recovery == RecoveryKind::selective_repeat) {
        lose_all(number);
    } else {
        sender.resent += sender.under_way();
        sender.next = sender.acknowledged;
        sender.resends = 0;
        if (sender.any_order) {
            all_.senders.board(sender).lost.clear();
        }
    }
}

// Silence doubles with each loss (RFC 6298, section 5). If nothing can be lost, it is a queue or a
// pause.
void Recovery::expect_answer(SenderId number) {
    if (!all_.can_lose) {
        return;
    }
    Sender& sender = all_.senders[number];
    sender.heard_at = all_.now();
    sender.retransmission = all_.senders.start_timer(TimerKind::retransmits, number, all_.senders.silence_of(sender));
}

void Recovery::begins_to_lose() {
    all_.can_lose = true;
    if (all_.settings.has(Quirk::no_retransmission_timer)) {
        return;
    }
    all_.senders.each_under_way([this](u32 /*flow*/, SenderId number) {
        const Sender& sender = all_.senders[number];
        if (sender.retransmission == none && !sender.is_cut && (!sender.is_open || sender.next > sender.acknowledged)) {
            expect_answer(number);
        }
    });
}

void Recovery::time_out(SenderId number) {
    Sender& sender = all_.senders[number];
    sender.retransmission = none;
    const bool is_under_way = !sender.is_open || sender.next > sender.acknowledged;
    if (!is_under_way && !sender.has_no_credit) {
        return;   // the next packet sent restarts it
    }
    const u64 due = sender.heard_at + all_.senders.silence_of(sender) * (is_under_way ? 1 : silences_of_credit);
    if (all_.now() < due) {
        sender.retransmission = all_.senders.start_timer(TimerKind::retransmits, number, due - all_.now());
        return;
    }
    sender.timeouts = static_cast<u8>(std::min(sender.timeouts + 1, 255));
    ++all_.totals.timeouts;
    all_.totals.timeouts_without_loss += all_.totals.drops == 0 && !all_.links_change ? 1 : 0;
    if (!sender.is_open) {
        hosts_.connect(number);
        return;
    }
    hosts_.was_silent(number);
    if (is_under_way) {
        all_.control->timed_out(number);
        lose_under_way(number);
    }
    all_.senders.touch(number);
    expect_answer(number);
    transmitter_.transmit(sender.port);
}

}  // namespace yantra::packet
