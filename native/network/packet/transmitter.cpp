#include "network/packet/transmitter.hpp"

#include <algorithm>

#include "network/packet/faults.hpp"
#include "network/packet/hosts.hpp"
#include "network/packet/switches.hpp"

namespace yantra::packet {

void Transmitter::enqueue(PortId number, PacketId packet, PacketQueue& queue) {
    watch_.look(number);
    Port& port = all_.ports[number];
    if (port.is_down) [[unlikely]] {
        faults_.lose(packet);
        return;
    }
    if (!queues_.empty() && &queue == &port.waits && !port.is_host) [[unlikely]] {
        queues_.of(number)->push(packet);
    } else {
        queue.push(all_.packets.pool, packet);
    }
    port.queue_bytes += all_.packets[packet].bytes;
    port.queue_max = std::max(port.queue_max, port.queue_bytes);
    transmit(number);
}

void Transmitter::transmit(PortId number) {
    Port& port = all_.ports[number];
    if (port.is_busy || port.is_down) {
        return;
    }
    PacketId packet;
    if (!port.control.empty()) {
        packet = port.control.pop(all_.packets.pool);
    } else if (!port.is_paused && !port.waits.empty()) {
        packet = port.waits.pop(all_.packets.pool);
    } else if (port.is_host) {
        hosts_.transmit(number);
        return;
    } else if (!queues_.empty()) [[unlikely]] {
        packet = port.is_paused ? PacketId::none : queues_.of(number)->pop();
        if (packet.is_none()) {
            return;
        }
    } else {
        return;
    }
    watch_.look(number);
    port.is_busy = true;
    port.queue_bytes -= all_.packets[packet].bytes;
    if (!port.is_host) {
        switches_.depart(number, packet);
    }
    begin(number, packet);
}

void Transmitter::begin(PortId number, PacketId packet) {
    Port& port = all_.ports[number];
    Packet& of = all_.packets[packet];
    const u64 now = all_.now();
    const u64 ticks = all_.ports.ticks_of(port, of.bytes);
    if (all_.begun.are_kept) [[unlikely]] {
        all_.begun.note(port, number, now);
    }
    of.link = number;
    of.failures = port.failures;
    ++port.packets;
    port.busy_ticks += ticks;
    port.sent_bytes += of.bytes;
    port.last_bytes = of.bytes;
    port.last_tick = now;
    if (of.kind == PacketKind::data && !of.is_trimmed) {
        ++all_.totals.data_packets;
        port.payload_bytes += of.payload;
        if (all_.settings.tells_crossings) {
            tell_crossing(number, of, ticks);
        }
    }
    if (port.by_formula) [[unlikely]] {
        is_busy_by_formula(port, now, all_.senders.transmission.ticks(of.bytes, port.bits_per_s));
    }
    ++all_.totals.packets;
    all_.senders.wheel.schedule(now + ticks, event(EventKind::sent, number));
    if (port.is_cut) [[unlikely]] {
        all_.cross(packet, port.to, now + ticks + port.delay);
        return;
    }
    all_.senders.wheel.schedule(now + ticks + port.delay, event(EventKind::arrived, packet.index()));
}

void Transmitter::tell_crossing(PortId number, const Packet& of, u64 ticks) {
    const Port& port = all_.ports[number];
    const Sender& sender = all_.senders[of.sender];
    if (sender.serial == of.serial) {
        const u64 taken = port.by_formula ? all_.senders.transmission.ticks(of.bytes, port.bits_per_s) : ticks;
        all_.observer.crosses(sender.flow, number.index(), all_.now(), all_.now() + taken, of.payload);
    }
}

void Transmitter::is_busy_by_formula(Port& port, u64 since, u64 ticks) {
    const u64 ends = since + ticks;
    port.busy_ticks += ends - std::min(ends, std::max(since, port.busy_until));
    port.busy_until = std::max(port.busy_until, ends);
}

void Transmitter::crosses_by_formula(LinkId link, u64 bytes, u64 tick) {
    Port& port = all_.ports[link];
    watch_.goes_on();
    ++port.packets;
    port.payload_bytes += bytes;
    port.sent_bytes += bytes;
    is_busy_by_formula(port, tick, all_.senders.transmission.ticks(bytes, port.bits_per_s));
}

}  // namespace yantra::packet
