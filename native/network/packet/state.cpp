#include "network/packet/state.hpp"

#include <array>

#include "network/packet/hosts.hpp"
#include "network/packet/switches.hpp"

namespace yantra::packet {

namespace {

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
        to.add(packet.sequence);
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
        for (u64 word : {sender.size, sender.acknowledged, sender.next, sender.expected, u64{sender.order}}) {
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

StateHash State::hash(u64 now, std::span<const FlowSpec> sent, const OfFlow& name) const {
    Writer writer{*this, now, name, {}};
    for (const FlowSpec& flow : sent) {
        writer.write(flow);
    }
    all_.ports.each([&writer](PortId port) { writer.write(port); });
    all_.senders.wheel.for_each([&writer](u64 time, u32 what) { writer.write(time, what); });
    return writer.to;
}

u64 State::chances() const { return switches_.draws(); }

AllCounts State::counts() const {
    AllCounts found{{}, all_.totals, all_.senders.wheel.processed()};
    for (const Port& port : all_.ports.all()) {
        Counts& counts = found.of_ports.emplace_back();
        for (std::size_t at = 0; at < all_counts.size(); ++at) {
            counts.*all_counts[at] = port.*counts_of_port[at];
        }
    }
    return found;
}

void State::leap(u64 ticks, u64 times, const AllCounts& before, const AllCounts& after) {
    Senders& senders = all_.senders;
    senders.wheel.for_each([&](u64, u32 what) {
        if (kind_of(what) == EventKind::arrived) {
            all_.packets[PacketId(what & event_index)].stamp += ticks;
        }
    });
    const auto moves = [&](const PacketQueue& queue) {
        for (PacketId at = queue.first; !at.is_none(); at = at == queue.last ? PacketId::none : all_.packets[at].next) {
            all_.packets[at].stamp += ticks;
        }
    };
    all_.ports.each([&](PortId number) {
        Port& port = all_.ports[number];
        moves(port.control);
        moves(port.waits);
        moves(port.relayed);
        port.paused_since += ticks;
        port.last_tick += ticks;
        for (std::size_t at = 0; at < all_counts.size(); ++at) {
            port.*counts_of_port[at] += times * (after.of_ports[number.index()].*all_counts[at] -
                                                 before.of_ports[number.index()].*all_counts[at]);
        }
    });
    senders.each_under_way([&](u32, SenderId number) {
        Sender& sender = senders[number];
        sender.next_available += ticks;
        sender.heard_at += ticks;
    });
    for (u64 Totals::* total : all_totals) {
        all_.totals.*total += times * (after.totals.*total - before.totals.*total);
    }
    all_.totals.skipped += times * (after.totals.packets - before.totals.packets);
    all_.progress.last += ticks;
    senders.wheel.leap(ticks, times * (after.events - before.events));
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
