// What ports and switches do with packets: queues, marks, pauses, telemetry.
#include <algorithm>
#include <cmath>

#include "base/hash.hpp"
#include "base/vector.hpp"
#include "network/packet/simulator.hpp"

namespace yantra::packet {

namespace {

constexpr u32 pause_frame_bytes = 31;

}  // namespace

bool Simulator::is_control(const Packet& packet, bool at_host) const {
    if (packet.kind == PacketKind::pause || packet.kind == PacketKind::resume) {
        return true;
    }
    return packet.kind != PacketKind::data && settings_.acks_first &&
           (at_host || !settings_.has(Quirk::acks_among_data));
}

// A port is about to change. It is in place, as two looks at each packet are too many for calls.
[[gnu::always_inline]] inline void Simulator::look(u32 number) {
    if (now() >= ports_[number].next_look) [[unlikely]] {
        note(number);
    }
}

[[gnu::noinline]] void Simulator::note(u32 number) { seen_->note(ports_[number], number, now()); }

// Behind what waits in a queue of the port.
void Simulator::enqueue(u32 number, u32 packet, PacketQueue& queue) {
    look(number);
    Port& port = ports_[number];
    if (port.is_down) [[unlikely]] {
        lose(packet);
        return;
    }
    if (!queues_.empty() && &queue == &port.waits && !port.is_host) [[unlikely]] {
        queues_[number]->push(packet);
    } else {
        queue.push(packets_, packet);
    }
    port.queue_bytes += packets_[packet].bytes;
    port.queue_max = std::max(port.queue_max, port.queue_bytes);
    transmit(number);
}

// The next packet of a port that is free: control, then data if it is not paused.
void Simulator::transmit(u32 number) {
    Port& port = ports_[number];
    if (port.is_busy || port.is_down) {
        return;
    }
    u32 packet = none;
    if (!port.control.empty()) {
        packet = port.control.pop(packets_);
    } else if (!port.is_paused && !port.waits.empty()) {
        packet = port.waits.pop(packets_);
    } else if (!queues_.empty() && !port.is_host) [[unlikely]] {
        packet = port.is_paused ? none : queues_[number]->pop();
        if (packet == none) {
            return;
        }
    } else if (port.is_host) {
        transmit_host(number);
        return;
    } else {
        return;
    }
    look(number);
    port.is_busy = true;
    port.queue_bytes -= packets_[packet].bytes;
    if (!port.is_host) {
        depart(number, packet);
    }
    begin_transmission(number, packet);
}

// At a host, what it relays and its own flows take turns.
void Simulator::transmit_host(u32 number) {
    Port& port = ports_[number];
    const bool relays = !port.is_paused && !port.relayed.empty();
    u32 sender = none;
    if (!relays || !port.relays_next) {
        sender = nics_[port.nic].next(senders_, senders_.ready[number], port.is_paused,
                                       [this](u32 ended) { senders_.end(ended); });
    }
    if (sender != none) {
        look(number);
        port.relays_next = true;
        port.is_busy = true;
        begin_transmission(number, next_packet(sender));
        Sender& of = senders_[sender];
        const u64 rate = settings_.paces_at_rate ? of.rate : of.line_rate;
        of.next_available = now() + senders_.transmission.ticks(of.last_bytes, rate);
        return;
    }
    if (relays) {
        look(number);
        const u32 packet = port.relayed.pop(packets_);
        port.relays_next = false;
        port.is_busy = true;
        port.queue_bytes -= packets_[packet].bytes;
        depart(number, packet);
        begin_transmission(number, packet);
        return;
    }
    const bool is_stale = settings_.has(Quirk::stale_wake_up);
    if (!is_stale && port.is_paused) {
        return;
    }
    const u64 next = nics_[port.nic].next_available(senders_, senders_.ready[number], is_stale);
    if (next == ~u64{0} || next <= now()) {
        return;
    }
    if (!is_stale && senders_.wake_timers[number] != none && next < senders_.wake_ticks[number]) {
        senders_.stop_timer(senders_.wake_timers[number]);
    }
    senders_.wake(number, next);
}

void Simulator::begin_transmission(u32 number, u32 packet) {
    Port& port = ports_[number];
    Packet& of = packets_[packet];
    const u64 ticks = ticks_of(port, of.bytes);
    of.link = number;
    of.failures = port.failures;
    ++port.packets;
    port.busy_ticks += ticks;
    port.sent_bytes += of.bytes;
    port.last_bytes = of.bytes;
    port.last_tick = now();
    if (of.kind == PacketKind::data) {
        ++totals_.data_packets;
        port.payload_bytes += of.payload;
        if (settings_.tells_crossings && senders_[of.sender].serial == of.serial) {
            const u64 taken = port.by_formula ? senders_.transmission.ticks(of.bytes, port.bits_per_s) : ticks;
            observer_.crosses(senders_[of.sender].flow, number, now(), now() + taken, of.payload);
        }
    }
    if (port.by_formula) [[unlikely]] {
        is_busy_by_formula(port, now(), senders_.transmission.ticks(of.bytes, port.bits_per_s));
    }
    ++totals_.packets;
    senders_.wheel.schedule(now() + ticks, event(EventKind::sent, number));
    senders_.wheel.schedule(now() + ticks + port.delay, event(EventKind::arrived, packet));
}

// Tables have what most packets are; telemetry of many hops makes them longer.
u64 Simulator::ticks_of(const Port& port, u32 bytes) const {
    const Vector<u32>& table = tables_[port.of_rate];
    if (bytes < table.size()) {
        return table[bytes];
    }
    return port.by_formula ? 0 : senders_.transmission.ticks(bytes, port.bits_per_s);
}

// It carries something until then, whatever else it carries: packets by formula are on it together.
void Simulator::is_busy_by_formula(Port& port, u64 since, u64 ticks) {
    const u64 ends = since + ticks;
    port.busy_ticks += ends - std::min(ends, std::max(since, port.busy_until));
    port.busy_until = std::max(port.busy_until, ends);
}

void Simulator::crosses_by_formula(u32 link, u64 bytes, u64 tick) {
    Port& port = ports_[link];
    busy_at_end_.clear();
    ++port.packets;
    port.payload_bytes += bytes;
    port.sent_bytes += bytes;
    is_busy_by_formula(port, tick, senders_.transmission.ticks(bytes, port.bits_per_s));
}

// Of what is on a link then, the part before it counts.
void Simulator::note_end(u64 tick) {
    busy_at_end_.clear();
    for (const Port& port : ports_) {
        const u64 last = port.last_tick + (port.packets > 0 ? ticks_of(port, port.last_bytes) : 0);
        const u64 ends = port.by_formula ? port.busy_until : last;
        busy_at_end_.push_back(port.busy_ticks - std::min(port.busy_ticks, ends - std::min(ends, tick)));
    }
}

// A packet leaves the queue of a switch: its buffer is free, it is marked, its neighbour may go on.
void Simulator::depart(u32 number, u32 packet) {
    Port& port = ports_[number];
    Packet& of = packets_[packet];
    if (!is_control(of, false)) {
        port.data_bytes -= of.bytes;
        Port& in = ports_[of.link];
        SharedBuffer& buffer = buffers_[port.from];
        buffer.leave(in, of.bytes);
        if (port.data_bytes > port.kmin && draws_mark(port, number, of)) {
            ++port.marks;
            of.is_marked = of.is_marked || of.kind == PacketKind::data;
        }
        if (in.has_paused && buffer.should_resume(in)) {
            in.has_paused = false;
            send_pause(in.twin, PacketKind::resume);
        }
    }
    if (of.kind == PacketKind::data && scheme_->telemetry >= TelemetryKind::hops && !port.by_formula) {
        write_telemetry(number, packet);
    }
}

// By what is left in the queue: random early detection (Floyd and Jacobson, 1993) on the present length.
bool Simulator::draws_mark(const Port& port, u32 number, const Packet& packet) {
    if (port.data_bytes > port.kmax) {
        return true;
    }
    const double share = static_cast<double>(port.data_bytes - port.kmin) / static_cast<double>(port.kmax - port.kmin);
    return draw(number, packet, port.data_bytes) < port.pmax * share;
}

// A number that depends on the packet, on what it finds and on when, and on no number of a device: two ports that see
// the same at the same time draw the same, so who is where changes nothing. As quirks have it, each port has its own
// numbers, one after the other.
double Simulator::draw(u32 number, const Packet& packet, u64 state) {
    if (settings_.quirks != 0) {
        return random_[number].uniform();
    }
    return Rng(settings_.seed, mix(now(), state), mix(packet.sequence, packet.order)).uniform();
}

void Simulator::write_telemetry(u32 number, u32 packet) {
    Port& port = ports_[number];
    Packet& of = packets_[packet];
    if (scheme_->telemetry == TelemetryKind::power) {
        write_power(port, of);
        return;
    }
    const std::size_t at = std::size_t{packet} * telemetry_hops_ + of.hops % telemetry_hops_;
    telemetry_[at] = {now(), port.sent_bytes, static_cast<u32>(std::min<u64>(port.queue_bytes, none - 1)), number};
    ++of.hops;
}

// PINT (Ben Basat et al., SIGCOMM 2020): the largest utilisation of the hops, as a power of a base, in a few bits.
// `stamp` has power + 1, and 0 where no switch has written.
void Simulator::write_power(Port& port, Packet& of) {
    const double base = settings_.option("log_base", 1.05);
    const double rtt = senders_.ns(largest_rtt_ == 0 ? 1 : largest_rtt_);
    const double most = settings_.max_rtt_ns > 0.0 ? settings_.max_rtt_ns : rtt;
    const double since = std::min(senders_.ns(now() - port.last_tick), most);
    const double bytes_per_ns = static_cast<double>(port.bits_per_s) / 8e9;
    const double waiting = static_cast<double>(port.queue_bytes >> 8 << 8);
    port.utilisation = port.utilisation * (most - since) / most + waiting * since / (bytes_per_ns * most * most) +
                       port.last_bytes / (bytes_per_ns * most);
    constexpr double scale = 512.0;   // flows at once that the encoding allows for
    const double whole = std::max(1.0, std::ceil(port.utilisation * scale));
    const double exact = std::log(whole) / std::log(base);
    const double lower = std::floor(exact);
    const double from = std::pow(base, lower);
    const bool rounds_up = draw(port.twin, of, port.queue_bytes) < (whole - from) / (from * base - from);
    of.stamp = std::max(of.stamp, static_cast<u64>(lower) + (rounds_up ? 1 : 0) + 1);
}

void Simulator::arrive(u32 packet) {
    Packet& of = packets_[packet];
    if (links_change_ && of.failures != ports_[of.link].failures) [[unlikely]] {
        lose(packet);
        return;
    }
    if (of.kind >= PacketKind::pause) {
        const u32 port = ports_[of.link].twin;
        const PacketKind kind = of.kind;
        packets_.give_back(packet);
        obey(port, kind);
    } else if (has_next_link(of)) {
        forward(packet);
    } else if (of.kind == PacketKind::data) {
        receive_data(packet);
    } else if (of.kind == PacketKind::open) [[unlikely]] {
        receive_opening(packet);
    } else {
        receive_ack(packet);
    }
}

// Reads the links at a place of the routes; returns whether the route ends with them.
bool Simulator::read_route(u32 route, LinksAhead& into) const {
    bool has_ended = false;
    for (u32& link : into) {
        link = has_ended ? none : routes_[route++];
        has_ended = has_ended || link == none;
    }
    return has_ended || routes_[route] == none;
}

// What comes behind the links that were read.
void Simulator::read_on(Packet& packet) const {
    packet.is_all_ahead = read_route(packet.route, packet.ahead);
    packet.route += static_cast<u32>(packet.ahead.size());
}

bool Simulator::has_next_link(Packet& packet) const {
    if (packet.ahead[0] == not_read) [[unlikely]] {
        read_on(packet);
    }
    return packet.ahead[0] != none;
}

// A switch, or a host on the way, passes a packet on.
void Simulator::forward(u32 packet) {
    Packet& of = packets_[packet];
    const u32 in_link = of.link;
    const u32 out_link = of.ahead[0];
    of.ahead = {of.ahead[1], of.ahead[2], of.is_all_ahead ? none : not_read};
    Port& out = ports_[out_link];
    if (out.is_down) [[unlikely]] {
        lose(packet);
        return;
    }
    if (is_control(of, false)) {
        enqueue(out_link, packet, out.control);
        return;
    }
    Port& in = ports_[in_link];
    SharedBuffer& buffer = buffers_[in.to];
    if (!buffer.admit(in, of.bytes)) {
        look(in_link);
        ++in.drops;
        ++totals_.drops;
        packets_.give_back(packet);
        if (!can_lose_) [[unlikely]] {
            begins_to_lose();
        }
        return;
    }
    out.data_bytes += of.bytes;
    if (settings_.pauses && in.twin != none && buffer.should_pause(in)) {
        in.has_paused = true;
        send_pause(in.twin, PacketKind::pause);
    }
    enqueue(out_link, packet, out.is_host ? out.relayed : out.waits);
}

void Simulator::send_pause(u32 port, PacketKind kind) {
    const u32 packet = take_packet();
    Packet& frame = packets_[packet];
    frame = Packet{};
    frame.kind = kind;
    frame.bytes = pause_frame_bytes;
    enqueue(port, packet, ports_[port].control);
}

void Simulator::obey(u32 number, PacketKind kind) {
    look(number);
    Port& port = ports_[number];
    if (kind == PacketKind::pause) {
        ++port.pauses;
        port.paused_since = port.is_paused ? port.paused_since : now();
        port.is_paused = true;
        if (!settings_.has(Quirk::pause_for_ever) && port.pause_timer == none) {
            port.pause_timer = senders_.start_timer(TimerKind::pause_ends, number, senders_.ticks(settings_.pause_ns));
        }
        return;
    }
    ++port.resumes;
    port.paused_ticks += port.is_paused ? now() - port.paused_since : 0;
    port.is_paused = false;
    senders_.stop_timer(port.pause_timer);
    transmit(number);
}

// Whoever asked for a pause says so again as long as it wants one.
void Simulator::end_pause(u32 number) {
    Port& port = ports_[number];
    port.pause_timer = none;
    if (port.has_paused && !buffers_[port.to].should_resume(port)) {
        port.pause_timer = senders_.start_timer(TimerKind::pause_ends, number, senders_.ticks(settings_.pause_ns));
        return;
    }
    look(number);
    port.has_paused = false;
    port.paused_ticks += now() - port.paused_since;
    port.is_paused = false;
    transmit(number);
}

}  // namespace yantra::packet
