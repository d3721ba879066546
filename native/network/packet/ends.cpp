// What the two ends of a flow do: packets made, received, answered; losses found.
#include <algorithm>

#include "network/packet/simulator.hpp"

namespace yantra::packet {

namespace {

constexpr double nack_again_ns = 500000.0;
constexpr u32 first_read = 1 + static_cast<u32>(LinksAhead{}.size());   // of a route, by its sender

}  // namespace

u32 Simulator::next_packet(u32 number) {
    Sender& sender = senders_[number];
    const u32 made = take_packet();
    Packet& packet = packets_[made];
    packet.route = sender.data_route + first_read;
    packet.ahead = sender.data_ahead;
    packet.is_all_ahead = sender.data_is_all_ahead;
    packet.sender = number;
    packet.serial = sender.serial;
    packet.kind = PacketKind::data;
    packet.is_marked = false;
    packet.order = sender.order;
    packet.priority = sender.priority & (most_priorities - 1);
    packet.hops = 0;
    if (sender.is_sprayed) [[unlikely]] {
        const u32 way = next_way(sender);
        packet.route = ways_[sender.first_way + way] + 1;
        read_on(packet);
        packet.hops = static_cast<u16>(way);   // its ACK has that, too
    }
    packet.stamp = scheme_->telemetry == TelemetryKind::power ? 0 : now();
    if (sender.any_order && sender.resends != 0) [[unlikely]] {
        packet.sequence = next_lost(sender);
        packet.payload = static_cast<u32>(std::min<u64>(settings_.payload_bytes, sender.size - packet.sequence));
    } else {
        packet.sequence = sender.next;
        packet.payload = static_cast<u32>(std::min<u64>(settings_.payload_bytes, sender.left()));
        sender.next += packet.payload;
    }
    packet.bytes = packet.payload + data_header_;
    sender.last_bytes = packet.bytes;
    if (sender.retransmission == none && can_lose_ && !settings_.has(Quirk::no_retransmission_timer)) {
        expect_answer(number);
    }
    return made;
}

void Simulator::receive_data(u32 packet) {
    Packet& of = packets_[packet];
    Sender& to = senders_[of.sender];
    if (to.receives != of.serial) {
        packets_.give_back(packet);
        return;
    }
    if (to.board != none) {
        receive_in_any_order(packet);
        return;
    }
    if (of.sequence == to.expected) {
        to.expected += of.payload;
        const bool is_all = to.expected >= to.whole;
        answer(to, packet, PacketKind::ack);
        if (is_all && !settings_.has(Quirk::late_receiver)) {
            seen_->arrived(to, now());
            observer_.received(to.flow);
        }
        return;
    }
    if (of.sequence > to.expected) {
        if (now() >= to.nacks_again_at || to.last_nack != to.expected) {
            to.nacks_again_at = now() + senders_.ticks(nack_again_ns);
            to.last_nack = to.expected;
            answer(to, packet, PacketKind::nack);
            return;
        }
    } else if (!settings_.has(Quirk::no_retransmission_timer)) {
        answer(to, packet, PacketKind::ack);   // its ACK was lost
        return;
    }
    packets_.give_back(packet);
}

// The packet goes back as the answer.
void Simulator::answer(Sender& to, u32 packet, PacketKind kind, u32 beyond) {
    Packet& of = packets_[packet];
    of.kind = kind;
    of.payload = beyond;
    of.is_marked = control_->tells_mark(of.sender, of.is_marked);
    of.sequence = to.expected;
    of.bytes = ack_bytes_;
    of.route = to.ack_route + first_read;
    of.ahead = to.ack_ahead;
    of.is_all_ahead = to.ack_is_all_ahead;
    totals_.acks += kind == PacketKind::ack ? 1 : 0;
    totals_.nacks += kind == PacketKind::nack ? 1 : 0;
    totals_.marked_acks += of.is_marked ? 1 : 0;
    const u32 port = to.ack_port;
    enqueue(port, packet, is_control(of, true) ? ports_[port].control : ports_[port].waits);
}

// First the window, then the end of the flow, what was lost, the congestion control, and at last the NIC.
void Simulator::receive_ack(u32 packet) {
    const Packet of = packets_[packet];
    Sender& sender = senders_[of.sender];
    packets_.give_back(packet);
    if (sender.serial != of.serial || sender.has_ended) {
        return;
    }
    if (of.kind == PacketKind::opened) {
        go_on(of.sender, of.stamp);
        return;
    }
    Feedback feedback;
    feedback.acknowledged = of.sequence;
    feedback.stamp = of.stamp;
    feedback.is_marked = of.is_marked;
    feedback.is_nack = of.kind == PacketKind::nack;
    feedback.hop_count = of.hops;
    const u32 port = sender.port;
    const u64 before = sender.acknowledged;
    feedback.is_duplicate = of.sequence == before && sender.next > before;
    if (sender.any_order) [[unlikely]] {
        feedback.newly = note_answer(sender, of);
    } else if (of.sequence > before) {
        feedback.newly = of.sequence - before;
    }
    if (of.sequence > before) {
        sender.acknowledged = of.sequence;
        sender.next = std::max(sender.next, sender.acknowledged);
    }
    if (feedback.newly > 0) {
        feedback.is_duplicate = false;
        sender.heard_at = last_progress_ = now();
        sender.timeouts = 0;
        drops_at_progress_ = totals_.drops;
        if (can_lose_ && scheme_->telemetry != TelemetryKind::power) {   // else the stamp is another
            senders_.took(of.sender, now() - of.stamp);
        }
    }
    if (sender.acknowledged >= sender.size) {
        complete(of.sender);
    } else if (sender.any_order) [[unlikely]] {
        feedback.is_nack = find_lost(of.sender);
    }
    if (feedback.is_nack && !sender.any_order) {
        sender.resent += sender.next - sender.acknowledged;
        sender.next = sender.acknowledged;
    }
    if (scheme_->telemetry == TelemetryKind::hops) {
        const u32 hops = std::min<u32>(of.hops, telemetry_hops_);
        feedback.hops = {telemetry_.data() + std::size_t{packet} * telemetry_hops_, hops};
    }
    senders_.touch(of.sender);
    if (!sender.is_cut) {
        control_->acknowledged(of.sender, feedback);
    }
    transmit(port);
}

void Simulator::complete(u32 number) {
    Sender& sender = senders_[number];
    if (sender.is_cut) {   // its last ACK was under way when its ways went down
        sender.is_cut = false;
        --cut_;
        nics_[ports_[sender.port].nic].add(senders_, number);
    }
    sender.has_ended = true;
    sender.receives = 0;
    senders_.touch(number);
    ++senders_.ready[sender.port].ended;
    --active_;
    --unfinished_;
    control_->end(number);
    senders_.stop_timer(sender.retransmission);
    seen_->completed(sender, now());
    if (settings_.has(Quirk::late_receiver)) {
        seen_->arrived(sender, now());
        observer_.received(sender.flow);
    }
    observer_.completed(sender.flow);
}

// Silence is counted from a packet that is sent while nothing is under way, and from each progress; it doubles with each
// that was a loss (RFC 6298, section 5). Where nothing can be lost, silence is a queue or a pause, however long.
void Simulator::expect_answer(u32 number) {
    if (!can_lose_) {
        return;
    }
    Sender& sender = senders_[number];
    sender.heard_at = now();
    sender.retransmission = senders_.start_timer(TimerKind::retransmits, number, senders_.silence_of(sender));
}

// The first packet is lost that no rule foresaw: from now on silence may be another.
void Simulator::begins_to_lose() {
    can_lose_ = true;
    if (settings_.has(Quirk::no_retransmission_timer)) {
        return;
    }
    each_under_way([this](u32, u32 number) {
        const Sender& sender = senders_[number];
        if (sender.retransmission == none && !sender.is_cut && (!sender.is_open || sender.next > sender.acknowledged)) {
            expect_answer(number);
        }
    });
}

void Simulator::time_out(u32 number) {
    Sender& sender = senders_[number];
    sender.retransmission = none;
    const bool waits = !sender.is_open || sender.next > sender.acknowledged;
    if (!waits) {
        return;   // the next packet that is sent counts on
    }
    const u64 due = sender.heard_at + senders_.silence_of(sender);
    if (now() < due) {
        sender.retransmission = senders_.start_timer(TimerKind::retransmits, number, due - now());
        return;
    }
    sender.timeouts = static_cast<u8>(std::min(sender.timeouts + 1, 255));
    ++totals_.timeouts;
    totals_.timeouts_without_loss += totals_.drops == 0 && !links_change_ ? 1 : 0;
    if (!sender.is_open) {
        connect(number);
        return;
    }
    control_->timed_out(number);
    lose_under_way(number);
    senders_.touch(number);
    expect_answer(number);
    transmit(sender.port);
}

// All that is not known to have arrived is sent again.
void Simulator::lose_under_way(u32 number) {
    Sender& sender = senders_[number];
    if (settings_.recovery == Recovery::selective_repeat) {
        lose_all(number);
    } else {
        sender.resent += sender.under_way();
        sender.next = sender.acknowledged;
        sender.resends = 0;
        if (sender.any_order) {
            senders_.board(sender).lost.clear();
        }
    }
}

// A packet without payload goes ahead, and data follows its answer (RFC 9293, section 3.5, without the third packet).
void Simulator::connect(u32 number) {
    Sender& sender = senders_[number];
    sender.is_open = false;
    const u32 made = take_packet();
    Packet& packet = packets_[made];
    packet = Packet{};
    packet.route = sender.data_route + first_read;
    packet.ahead = sender.data_ahead;
    packet.is_all_ahead = sender.data_is_all_ahead;
    packet.sender = number;
    packet.serial = sender.serial;
    packet.kind = PacketKind::open;
    packet.order = sender.order;
    packet.bytes = data_header_;
    packet.stamp = now();
    expect_answer(number);
    Port& port = ports_[sender.port];
    enqueue(sender.port, made, is_control(packet, true) ? port.control : port.waits);
}

void Simulator::receive_opening(u32 packet) {
    const Packet& of = packets_[packet];
    Sender& to = senders_[of.sender];
    if (to.receives != of.serial) {
        packets_.give_back(packet);
        return;
    }
    answer(to, packet, PacketKind::opened);
}

void Simulator::go_on(u32 number, u64 asked_at) {
    Sender& sender = senders_[number];
    if (sender.is_open || sender.is_cut) {
        return;   // it asked twice, or has no way for what comes next
    }
    sender.is_open = true;
    sender.timeouts = 0;
    senders_.stop_timer(sender.retransmission);
    last_progress_ = now();
    control_->opened(number, now() - asked_at);
    nics_[ports_[sender.port].nic].add(senders_, number);
    transmit(senders_[number].port);
}

}  // namespace yantra::packet
