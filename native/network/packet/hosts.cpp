#include "network/packet/hosts.hpp"

#include <algorithm>

#include "network/packet/recovery.hpp"
#include "network/packet/switches.hpp"

namespace yantra::packet {

namespace {

constexpr u32 first_read = 1 + static_cast<u32>(LinksAhead{}.size());   // of a route, by its sender

}  // namespace

Hosts::Hosts(Common& all, Watch& watch, Transmitter& transmitter, Recovery& recovery, Switches& switches)
    : all_(all), watch_(watch), transmitter_(transmitter), recovery_(recovery), switches_(switches) {
    if (all_.settings.credits != 0) {
        credits_ = std::make_unique<Credits>(all_, *this);
    }
    all_.ports.each([this](PortId number) {
        Port& port = all_.ports[number];
        if (port.is_host) {
            port.nic = static_cast<u32>(nics_.size());
            nics_.emplace_back();
        }
    });
}

// Two events precede the first packet: they decide which of the flows that start in one tick comes
// first.
void Hosts::send(const FlowSpec& flow, u64 tick) {
    FlowSpec sent = flow;
    watch_.is_sent(sent, tick);
    all_.senders.wheel.schedule(tick, event(EventKind::begins, waiting_.take(sent)));
    ++all_.progress.unfinished;
}

void Hosts::start(u32 number) {
    const FlowSpec spec = waiting_[number];
    waiting_.give_back(number);
    const SenderId made = all_.senders.add(spec.serial);
    Sender& sender = all_.senders[made];
    sender.size = sender.whole = spec.bytes;
    sender.flow = spec.flow;
    sender.seen = spec.seen;
    sender.order = spec.order;
    set_ways(sender, spec);
    if (sender.is_sprayed) {
        all_.senders.board(sender).turn = sender.serial * 7919u;   // so messages do not take turns in step
    }
    sender.port = all_.routes[spec.data_route];
    set_pace(sender);
    if (all_.progress.active++ == 0 && all_.border.is_whole()) {
        all_.progress.last = all_.now();
        all_.progress.drops = all_.totals.drops;
    }
    watch_.begins(sender);
    all_.control->begin(made);
    if (credits_ != nullptr) {
        credits_->begin(made);
    }
    if (all_.scheme.connects) {
        connect(made);
        return;
    }
    enlist(made);
    transmitter_.transmit(all_.senders[made].port);
}

void Hosts::set_pace(Sender& sender) const {
    const Settings& settings = all_.settings;
    const Routes& routes = all_.routes;
    sender.rate = sender.line_rate = all_.ports[sender.port].bits_per_s;
    sender.base_rtt = settings.one_window ? routes.largest_rtt() : routes.base_rtt(sender.data_route);
    if (settings.base_rtt_ns > 0.0) {
        sender.base_rtt = all_.senders.ticks(settings.base_rtt_ns);
    }
    if (settings.has_window) {
        sender.window = settings.window_bytes > 0 ? settings.window_bytes
                        : settings.one_window     ? routes.largest_window()
                                                  : routes.window_of(sender.data_route);
    }
    sender.window_now = sender.window;
    sender.priority = sender.size <= settings.short_message ? 0 : 1;
    sender.next_available = all_.now();
}

void Hosts::set_ways(Sender& sender, const FlowSpec& ways) {
    sender.data_route = ways.data_route;
    sender.ack_route = ways.ack_route;
    sender.data_is_all_ahead = all_.routes.read(ways.data_route + 1, sender.data_ahead);
    sender.ack_is_all_ahead = all_.routes.read(ways.ack_route + 1, sender.ack_ahead);
    sender.ack_port = all_.routes[ways.ack_route];
    sender.first_way = ways.first_way;
    sender.ways = static_cast<u16>(ways.ways);
    sender.is_sprayed = ways.ways != 0;
    sender.is_steered = ways.target != none;
    if (sender.is_steered) {
        sender.first_way = ways.target;
    }
    sender.data_links = static_cast<u16>(all_.routes.links_of(ways.data_route).size());
}

void Hosts::move_to(SenderId number, PortId port) {
    Sender& sender = all_.senders[number];
    const bool has_place = sender.place != none;
    delist(number);
    if (credits_ != nullptr) {
        credits_->leave(number);
    }
    sender.port = port;
    sender.line_rate = all_.ports[port].bits_per_s;
    sender.rate = std::min(sender.rate, sender.line_rate);
    if (credits_ != nullptr) {
        credits_->join(number);
    }
    if (has_place) {
        enlist(number);
    }
}

void Hosts::delist(SenderId number) {
    const Sender& sender = all_.senders[number];
    if (sender.place != none) {
        nic_of(sender).remove(all_.senders, all_.senders.ready[sender.port], number);
    }
}

void Hosts::transmit(PortId number) {
    Port& port = all_.ports[number];
    const bool relays = !port.is_paused && !port.relayed.empty();
    SenderId sender;
    if (!relays || !port.relays_next) {
        sender = nics_[port.nic].next(all_.senders, all_.senders.ready[number], port.is_paused,
                                      [this](SenderId ended) { all_.senders.end(ended); });
    }
    if (!sender.is_none()) {
        watch_.look(number);
        port.relays_next = true;
        port.is_busy = true;
        transmitter_.begin(number, next_packet(sender));
        Sender& of = all_.senders[sender];
        const u64 rate = all_.settings.paces_at_rate ? of.rate : of.line_rate;
        of.next_available = all_.now() + all_.senders.transmission.ticks(of.last_bytes, rate);
    } else if (relays) {
        watch_.look(number);
        const PacketId packet = port.relayed.pop(all_.packets.pool);
        port.relays_next = false;
        port.is_busy = true;
        port.queue_bytes -= all_.packets[packet].bytes;
        switches_.depart(number, packet);
        transmitter_.begin(number, packet);
    } else {
        wake_later(number);
    }
}

void Hosts::wake_later(PortId number) {
    const Port& port = all_.ports[number];
    Senders& senders = all_.senders;
    const bool is_stale = all_.settings.has(Quirk::stale_wake_up);
    if (!is_stale && port.is_paused) {
        return;
    }
    const u64 next = nics_[port.nic].next_available(senders, senders.ready[number], is_stale);
    if (next == ~u64{0} || next <= all_.now()) {
        return;
    }
    if (!is_stale && senders.wake_timers[number] != none && next < senders.wake_ticks[number]) {
        senders.stop_timer(senders.wake_timers[number]);
    }
    senders.wake(number, next);
}

PacketId Hosts::next_packet(SenderId number) {
    Sender& sender = all_.senders[number];
    const PacketId made = all_.packets.take();
    Packet& packet = all_.packets[made];
    packet.route = sender.data_route + first_read;
    packet.ahead = sender.data_ahead;
    packet.is_all_ahead = sender.data_is_all_ahead;
    packet.sender = all_.senders.name_of(number);
    packet.serial = sender.serial;
    packet.kind = PacketKind::data;
    packet.is_marked = false;
    packet.order = sender.order;
    packet.priority = sender.priority & (most_priorities - 1);
    packet.hops = 0;
    packet.is_trimmed = false;
    packet.is_steered = sender.is_steered;
    if (sender.is_steered) [[unlikely]] {
        packet.route = sender.first_way;
        packet.ahead.fill(not_read);
        packet.is_all_ahead = false;
    } else if (sender.is_sprayed) [[unlikely]] {
        const u32 way = next_way(sender);
        packet.route = all_.routes.way(sender.first_way + way) + 1;
        all_.routes.read_on(packet);
        packet.hops = static_cast<u16>(way);   // its ACK has it, too
    }
    packet.stamp = all_.scheme.telemetry == TelemetryKind::power ? 0 : all_.now();
    const bool is_again = sender.any_order && sender.resends != 0;
    if (is_again) [[unlikely]] {
        packet.sequence = recovery_.next_lost(sender);
        packet.payload = static_cast<u32>(std::min<u64>(all_.settings.payload_bytes, sender.size - packet.sequence));
    } else {
        packet.sequence = sender.next;
        packet.payload = static_cast<u32>(std::min<u64>(all_.settings.payload_bytes, sender.left()));
        sender.next += packet.payload;
    }
    if (credits_ != nullptr) [[unlikely]] {
        credits_->sent(number, made);
    }
    packet.asks = is_again || !sender.can_send();
    packet.bytes = packet.payload + all_.packets.data_header();
    sender.last_bytes = packet.bytes;
    if (sender.retransmission == none && all_.has_timers()) {
        recovery_.expect_answer(number);
    }
    return made;
}

// Each call takes a turn off the first that is to be skipped (network/packet/recovery.cpp).
u32 Hosts::next_way(Sender& sender) {
    Scoreboard& board = all_.senders.board(sender);
    board.to_skip.resize(sender.ways);
    for (u32 tried = 0; tried < sender.ways; ++tried) {
        const u32 way = board.turn++ % sender.ways;
        if (board.to_skip[way] == 0) {
            return way;
        }
        if (tried == 0) {
            --board.to_skip[way];
        }
    }
    return board.turn++ % sender.ways;
}

void Hosts::receive_data(PacketId packet) {
    const Packet& of = all_.packets[packet];
    const Sender& to = all_.senders.received_from(of.sender);
    if (to.receives != of.serial) {
        all_.packets.give_back(packet);
        return;
    }
    if (credits_ != nullptr) [[unlikely]] {
        credits_->came(packet);
    }
    if (to.board != none) {
        recovery_.receive_in_any_order(packet);
    } else {
        recovery_.receive_in_order(packet);
    }
}

void Hosts::answer(const Sender& to, PacketId packet, PacketKind kind, u32 beyond) {
    Packet& of = all_.packets[packet];
    of.kind = kind;
    of.payload = beyond;
    of.is_marked = all_.control->tells_mark(of.sender, of.is_marked);
    of.sequence = to.expected;
    of.bytes = all_.packets.ack_bytes();
    of.route = to.ack_route + first_read;
    of.ahead = to.ack_ahead;
    of.is_all_ahead = to.ack_is_all_ahead;
    of.is_steered = of.is_trimmed = false;
    all_.totals.acks += kind == PacketKind::ack ? 1 : 0;
    all_.totals.nacks += kind == PacketKind::nack ? 1 : 0;
    all_.totals.grants += kind == PacketKind::credit ? 1 : 0;
    all_.totals.marked_acks += of.is_marked ? 1 : 0;
    Port& port = all_.ports[to.ack_port];
    transmitter_.enqueue(to.ack_port, packet, transmitter_.is_control(of, true) ? port.control : port.waits);
}

void Hosts::give(const Sender& to, SenderId sender, u64 total) {
    const PacketId made = all_.packets.take();
    all_.packets[made] = Packet{};
    all_.packets[made].sender = sender;
    all_.packets[made].serial = to.receives;
    all_.packets[made].order = to.order;
    all_.packets[made].stamp = total;
    answer(to, made, PacketKind::credit);
}

void Hosts::grant(PortId port) {
    credits_->grant(port);
}

void Hosts::was_silent(SenderId sender) {
    if (credits_ != nullptr) {
        credits_->was_silent(sender);
    }
}

void Hosts::has_all(const Sender& receiver) {
    watch_.has_arrived(receiver);
    all_.observer.received(receiver.flow);
}

void Hosts::receive_ack(PacketId packet) {
    Packet of = all_.packets[packet];
    of.sender = all_.senders.named(of.sender);
    Sender& sender = all_.senders[of.sender];
    all_.packets.give_back(packet);
    if (sender.serial != of.serial || sender.has_ended) {
        return;
    }
    if (of.kind == PacketKind::opened) {
        go_on(of.sender, of.stamp);
        return;
    }
    if (of.kind == PacketKind::credit) {
        sender.heard_at = all_.progress.last = all_.now();
        credits_->granted(of.sender, of.stamp);
        transmitter_.transmit(sender.port);
        return;
    }
    Feedback feedback;
    const bool was_trimmed = sender.any_order && of.kind == PacketKind::nack;
    feedback.acknowledged = of.sequence;
    feedback.stamp = of.stamp;
    feedback.is_marked = of.is_marked;
    feedback.is_nack = of.kind == PacketKind::nack;
    feedback.hop_count = of.hops;
    const PortId port = sender.port;
    const u64 before = sender.acknowledged;
    feedback.is_duplicate = of.sequence == before && sender.next > before;
    if (sender.any_order) [[unlikely]] {
        feedback.newly = recovery_.note_answer(of.sender, of);
    } else if (of.sequence > before) {
        feedback.newly = of.sequence - before;
    }
    if (of.sequence > before) {
        sender.acknowledged = of.sequence;
        sender.next = std::max(sender.next, sender.acknowledged);
    }
    if (feedback.newly > 0) {
        feedback.is_duplicate = false;
        sender.heard_at = all_.progress.last = all_.now();
        sender.timeouts = 0;
        all_.progress.drops = all_.totals.drops;
        if (all_.can_lose && all_.scheme.telemetry != TelemetryKind::power) {   // else the stamp is another
            all_.senders.took(of.sender, all_.now() - of.stamp);
        }
    }
    if (sender.acknowledged >= sender.size) {
        complete(of.sender);
    } else if (sender.any_order) [[unlikely]] {
        feedback.is_nack = recovery_.find_lost(of.sender) || was_trimmed;
        sender.heard_at = was_trimmed ? all_.now() : sender.heard_at;
    }
    if (feedback.is_nack && !sender.any_order) {
        recovery_.go_back(sender);
    }
    if (all_.scheme.telemetry == TelemetryKind::hops) {
        feedback.hops = all_.packets.telemetry_of(packet, of.hops);
    }
    if (credits_ != nullptr) [[unlikely]] {
        credits_->answered(of.sender);
    }
    all_.senders.touch(of.sender);
    if (!sender.is_cut) {
        all_.control->acknowledged(of.sender, feedback);
    }
    transmitter_.transmit(port);
}

void Hosts::complete(SenderId number) {
    Sender& sender = all_.senders[number];
    if (sender.is_cut) {   // its last ACK was under way when its ways went down
        sender.is_cut = false;
        --all_.progress.cut;
        enlist(number);
    }
    sender.has_ended = true;
    sender.receives = 0;
    all_.senders.touch(number);
    ++all_.senders.ready[sender.port].ended;
    --all_.progress.active;
    --all_.progress.unfinished;
    all_.control->end(number);
    if (credits_ != nullptr) {
        credits_->leave(number);
    }
    all_.senders.stop_timer(sender.retransmission);
    watch_.has_completed(sender);
    if (all_.settings.has(Quirk::late_receiver)) {
        has_all(sender);
    }
    all_.observer.completed(sender.flow);
}

void Hosts::connect(SenderId number) {
    Sender& sender = all_.senders[number];
    sender.is_open = false;
    const PacketId made = all_.packets.take();
    Packet& packet = all_.packets[made];
    packet = Packet{};
    packet.route = sender.data_route + first_read;
    packet.ahead = sender.data_ahead;
    packet.is_all_ahead = sender.data_is_all_ahead;
    packet.sender = all_.senders.name_of(number);
    packet.serial = sender.serial;
    packet.kind = PacketKind::open;
    packet.order = sender.order;
    packet.bytes = all_.packets.data_header();
    packet.stamp = all_.now();
    recovery_.expect_answer(number);
    Port& port = all_.ports[sender.port];
    transmitter_.enqueue(sender.port, made, transmitter_.is_control(packet, true) ? port.control : port.waits);
}

void Hosts::receive_opening(PacketId packet) {
    const Packet& of = all_.packets[packet];
    Sender& to = all_.senders.received_from(of.sender);
    if (to.receives != of.serial) {
        all_.packets.give_back(packet);
        return;
    }
    answer(to, packet, PacketKind::opened);
}

void Hosts::go_on(SenderId number, u64 asked_at) {
    Sender& sender = all_.senders[number];
    if (sender.is_open || sender.is_cut) {
        return;   // it asked twice, or has no way
    }
    sender.is_open = true;
    sender.timeouts = 0;
    all_.senders.stop_timer(sender.retransmission);
    all_.progress.last = all_.now();
    all_.control->opened(number, all_.now() - asked_at);
    enlist(number);
    transmitter_.transmit(all_.senders[number].port);
}

}  // namespace yantra::packet
