#include "network/packet/state.hpp"

#include <algorithm>
#include <array>

#include "network/packet/hosts.hpp"
#include "network/packet/switches.hpp"

namespace yantra::packet {

namespace {

constexpr u64 bytes_of_place = 1024;   // network/packet/packet.hpp

constexpr std::array<u64 Totals::*, 8> all_totals = {
    &Totals::packets,      &Totals::data_packets, &Totals::acks,     &Totals::nacks,
    &Totals::marked_acks,  &Totals::drops,        &Totals::timeouts, &Totals::timeouts_without_loss};

constexpr std::array<u64 Counts::*, 8> all_counts = {
    &Counts::packets, &Counts::sent_bytes, &Counts::payload_bytes, &Counts::busy_ticks,
    &Counts::pauses,  &Counts::resumes,    &Counts::paused_ticks,  &Counts::marks};
constexpr std::array<u64 Port::*, 8> counts_of_port = {
    &Port::packets, &Port::sent_bytes, &Port::payload_bytes, &Port::busy_ticks,
    &Port::pauses,  &Port::resumes,    &Port::paused_ticks,  &Port::marks};

}  // namespace

// What a stopped timer, an ended sender or a moment in the past still decides is nothing.
struct State::Writer {
    const State& of;
    const u64 now;
    const OfFlow& name;
    StateHash to;
    bool of_streams = false;

    // From which bytes of a flow are counted. What goes first in a tick depends on KiB sent.
    u64 base(SenderId number) const {
        return of_streams && !number.is_none() ? of.all_.senders[number].acknowledged : 0;
    }
    u64 code(SenderId sender, u32 serial) const {
        if (sender.is_none()) {
            return 0;
        }
        const Sender& found = of.all_.senders[sender];
        return found.serial != serial || found.has_ended ? 1 : 2 + name(found.flow);
    }

    void write(PacketId number) {
        const Packet& packet = of.all_.packets[number];
        to.add(u64{packet.payload} << 32U | static_cast<u64>(packet.kind) << 24U | u64{packet.is_marked} << 17U |
               u64{packet.is_all_ahead} << 16U | packet.order);
        to.add(u64{packet.route} << 32U | packet.link.index());
        to.add(u64{packet.ahead[0].index()} << 32U | packet.ahead[1].index());
        to.add(packet.ahead[2].index());
        to.add(code(packet.sender, packet.serial));
        to.add(packet.sequence - base(packet.sender));
    }

    void write(const PacketQueue& queue) {
        for (PacketId at = queue.first; !at.is_none(); at = at == queue.last ? PacketId::none : of.all_.packets[at].next) {
            write(at);
        }
        to.add(none);
    }

    void write(const FlowSpec& flow) {
        to.add(flow.bytes);
        to.add(u64{flow.data_route} << 32U | flow.ack_route);
        to.add(flow.order);
        to.add(name(flow.flow));
    }

    void write(SenderId number) {
        const Sender& sender = of.all_.senders[number];
        if (sender.has_ended) {
            to.add(1);
            return;
        }
        to.add(2 + name(sender.flow));
        const u64 from = base(number);
        for (u64 word : {of_streams ? from % bytes_of_place : sender.size, sender.acknowledged - from, sender.next - from,
                         sender.expected - from, u64{sender.order}}) {
            to.add(word);
        }
        to.add(u64{sender.data_route} << 32U | sender.ack_route);
    }

    void write(PortId number) {
        const Port& port = of.all_.ports[number];
        write(port.control);
        write(port.waits);
        write(port.relayed);
        to.add(u64{port.is_paused} | u64{port.relays_next} << 1U | u64{port.has_paused} << 2U);
        for (u64 word : {port.ingress_bytes, port.headroom_used, port.is_paused ? now - port.paused_since : 0}) {
            to.add(word);
        }
        if (!port.is_host) {
            return;
        }
        const Nic& nic = of.hosts_.nic(number);
        to.add(nic.last());
        for (SenderId sender : nic.senders()) {
            write(sender);
        }
        to.add(none);
    }

    void write_all();
    void write(u64 time, u32 what) {
        const u32 index = what & event_index;
        const EventKind kind = kind_of(what);
        const Timer* timer = kind == EventKind::timer ? of.all_.senders.running(index) : nullptr;
        if (kind == EventKind::begins || (kind == EventKind::timer && timer == nullptr)) {
            return;
        }
        to.add((time - now) << 3U | static_cast<u64>(kind));
        if (kind == EventKind::arrived) {
            write(PacketId(index));
        } else if (kind == EventKind::sent) {
            to.add(index);
        } else if (timer != nullptr) {
            to.add(static_cast<u64>(timer->kind) << 32U | timer->index);   // of ports alone, without recovery
        }
    }
};

State::State(Common& all, Hosts& hosts, Switches& switches, const std::vector<u32>& links)
    : all_(all), hosts_(hosts), switches_(switches) {
    for (u32 link : links) {
        ports_.emplace_back(link);
    }
    if (links.empty()) {
        all_.ports.each([this](PortId port) { ports_.push_back(port); });
    }
}

StateHash State::hash(u64 now, std::span<const FlowSpec> sent, const OfFlow& name) const {
    Writer writer{*this, now, name, {}};
    for (const FlowSpec& flow : sent) {
        writer.write(flow);
    }
    writer.write_all();
    return writer.to;
}

StateHash State::hash_of_streams(u64 now) const {
    const OfFlow own = [](u32 flow) { return u64{flow}; };
    Writer writer{*this, now, own, {}, true};
    writer.write_all();
    return writer.to;
}

void State::Writer::write_all() {
    for (PortId port : of.ports_) {
        write(port);
    }
    of.all_.senders.wheel.for_each([this](u64 time, u32 what) { write(time, what); });
}

u64 State::chances() const { return switches_.draws(); }

AllCounts State::counts() const {
    AllCounts found{{}, all_.totals, all_.senders.wheel.processed()};
    for (PortId number : ports_) {
        const Port& port = all_.ports[number];
        Counts& counts = found.of_ports.emplace_back();
        for (std::size_t at = 0; at < all_counts.size(); ++at) {
            counts.*all_counts[at] = port.*counts_of_port[at];
        }
    }
    return found;
}

AllCounts AllCounts::since(const AllCounts& before) const {
    AllCounts found = *this;
    for (std::size_t port = 0; port < of_ports.size(); ++port) {
        for (u64 Counts::* count : all_counts) {
            found.of_ports[port].*count -= before.of_ports[port].*count;
        }
    }
    for (u64 Totals::* total : all_totals) {
        found.totals.*total -= before.totals.*total;
    }
    found.events -= before.events;
    return found;
}

void State::leap(u64 ticks, u64 times, const AllCounts& counted, u64 bytes) {
    Senders& senders = all_.senders;
    const auto move = [&](PacketId number) {
        Packet& packet = all_.packets[number];
        packet.stamp += ticks;
        if (!packet.sender.is_none() && !senders[packet.sender].has_ended) {
            packet.sequence += bytes;
        }
    };
    senders.wheel.for_each([&](u64, u32 what) {
        if (kind_of(what) == EventKind::arrived) {
            move(PacketId(what & event_index));
        }
    });
    const auto moves = [&](const PacketQueue& queue) {
        for (PacketId at = queue.first; !at.is_none(); at = at == queue.last ? PacketId::none : all_.packets[at].next) {
            move(at);
        }
    };
    for (std::size_t place = 0; place < ports_.size(); ++place) {
        Port& port = all_.ports[ports_[place]];
        moves(port.control);
        moves(port.waits);
        moves(port.relayed);
        port.paused_since += ticks;
        port.last_tick += ticks;
        for (std::size_t at = 0; at < all_counts.size(); ++at) {
            port.*counts_of_port[at] += times * counted.of_ports[place].*all_counts[at];
        }
    }
    senders.each_under_way([&](u32, SenderId number) {
        Sender& sender = senders[number];
        sender.next_available += ticks;
        sender.heard_at += ticks;
        for (u64 Sender::* of : {&Sender::acknowledged, &Sender::next, &Sender::expected}) {
            sender.*of += bytes;
        }
    });
    for (u64 Totals::* total : all_totals) {
        all_.totals.*total += times * counted.totals.*total;
    }
    all_.totals.skipped += times * counted.totals.packets;
    all_.progress.last += ticks;
    senders.wheel.leap(ticks, times * counted.events);
}

bool State::rests() const {
    bool has_events = false;
    all_.senders.wheel.for_each([&](u64, u32 what) {
        has_events = has_events || kind_of(what) != EventKind::timer || all_.senders.running(what & event_index) != nullptr;
    });
    return !has_events && all_.progress.unfinished == 0 &&
           std::all_of(ports_.begin(), ports_.end(), [this](PortId number) {
               const Port& port = all_.ports[number];
               return !port.is_busy && !port.is_paused && !port.has_paused && port.queue_bytes == 0 &&
                      port.ingress_bytes == 0 && port.headroom_used == 0 &&
                      (!port.is_host || hosts_.nic(number).senders().empty());
           });
}

std::vector<bool> State::turns() const {
    std::vector<bool> found;
    for (PortId port : ports_) {
        found.push_back(all_.ports[port].relays_next);
    }
    return found;
}

void State::set_turns(const std::vector<bool>& turns) {
    for (std::size_t place = 0; place < ports_.size(); ++place) {
        all_.ports[ports_[place]].relays_next = turns[place];
    }
}

void State::rename(const OfFlow& number) {
    all_.senders.each_under_way([&](u32 flow, SenderId sender) {
        all_.senders[sender].flow = static_cast<u32>(number(flow));
    });
    all_.senders.wheel.for_each([&](u64, u32 what) {
        if (kind_of(what) >= EventKind::begins && kind_of(what) <= EventKind::starts) {
            FlowSpec& flow = hosts_.waiting(what & event_index);
            flow.flow = static_cast<u32>(number(flow.flow));
        }
    });
}

}  // namespace yantra::packet
