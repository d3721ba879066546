#include "network/packet/faults.hpp"

#include "network/packet/hosts.hpp"
#include "network/packet/recovery.hpp"
#include "network/packet/switches.hpp"

namespace yantra::packet {

void Faults::change_link(PortId number, u64 bits_per_s) {
    all_.links_change = true;
    Port& port = all_.ports[number];
    if (bits_per_s > 0) {
        port.bits_per_s = all_.senders.line_rates[number] = bits_per_s;
        port.of_rate = all_.ports.table_of(bits_per_s);
        if (port.is_down) {
            port.is_down = false;
            all_.progress.last = all_.now();
            transmitter_.transmit(number);
        }
        return;
    }
    if (port.is_down) {
        return;
    }
    watch_.look(number);
    port.is_down = true;
    ++port.failures;
    port.paused_ticks += port.is_paused ? all_.now() - port.paused_since : 0;
    port.is_paused = port.has_paused = false;
    all_.senders.stop_timer(port.pause_timer);
    flush(number);
}

void Faults::flush(PortId number) {
    Port& port = all_.ports[number];
    while (!port.control.empty()) {
        lose(port.control.pop(all_.packets.pool));
    }
    while (!port.waits.empty()) {
        const PacketId packet = port.waits.pop(all_.packets.pool);
        if (!port.is_host) {   // else it is the host's ACK
            switches_.leave_unsent(number, packet);
        }
        lose(packet);
    }
    while (!port.relayed.empty()) {
        const PacketId packet = port.relayed.pop(all_.packets.pool);
        switches_.leave_unsent(number, packet);
        lose(packet);
    }
    if (QueueDiscipline* const queue = queues_.of(number)) {
        for (PacketId packet = queue->pop(); !packet.is_none(); packet = queue->pop()) {
            switches_.leave_unsent(number, packet);
            lose(packet);
        }
    }
    port.queue_bytes = 0;
}

void Faults::lose(PacketId packet) {
    const Packet& of = all_.packets[packet];
    if (of.kind == PacketKind::data) {
        ++lost_.packets;
        lost_.bytes += of.payload;
    }
    all_.packets.give_back(packet);
}

void Faults::take_ways(SenderId number, const FlowSpec& ways) {
    Sender& sender = all_.senders[number];
    hosts_.set_ways(sender, ways);
    const PortId port = all_.routes[ways.data_route];
    if (port != sender.port) {
        hosts_.move_to(number, port);
    }
    if (sender.is_cut) {
        go_on_again(number);
    } else {
        transmitter_.transmit(port);
    }
}

void Faults::cut(SenderId number) {
    Sender& sender = all_.senders[number];
    sender.is_cut = true;
    ++all_.progress.cut;
    all_.senders.stop_timer(sender.retransmission);
    hosts_.delist(number);
    if (!all_.scheme.connects) {
        all_.control->end(number);
    }
}

void Faults::go_on_again(SenderId number) {
    Sender& sender = all_.senders[number];
    sender.is_cut = false;
    --all_.progress.cut;
    sender.timeouts = 0;
    sender.next_available = all_.progress.last = all_.now();
    if (!sender.is_open) {
        hosts_.connect(number);
        return;
    }
    if (!all_.scheme.connects) {
        sender.rate = sender.line_rate = all_.ports[sender.port].bits_per_s;
        sender.window_now = sender.window;
        all_.control->begin(number);
    }
    recovery_.lose_under_way(number);
    hosts_.enlist(number);
    if (sender.next > sender.acknowledged) {
        recovery_.expect_answer(number);
    }
    transmitter_.transmit(sender.port);
}

}  // namespace yantra::packet
