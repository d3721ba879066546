// Links that fail, return or change their rate, and senders that go another way since.
//
// A link that goes down loses what is on it and what waits for it, as a switch drops what it has for a dead port; what
// comes for it until others know is lost, too. Senders notice by what is always there: answers of the receiver, and
// silence. Pauses that were said over the link are forgotten with it. Trade-off: a sender of whom all ways are down
// waits, and begins again with a fresh congestion control, where a real one would try now and then and give up at last.
#include <algorithm>

#include "network/packet/simulator.hpp"

namespace yantra::packet {

void Simulator::change_link(u32 number, u64 bits_per_s) {
    links_change_ = true;
    Port& port = ports_[number];
    if (bits_per_s > 0) {
        port.bits_per_s = senders_.line_rates[number] = bits_per_s;
        port.of_rate = table_of(bits_per_s);
        if (port.is_down) {
            port.is_down = false;
            last_progress_ = now();
            transmit(number);
        }
        return;
    }
    if (port.is_down) {
        return;
    }
    look(number);
    port.is_down = true;
    ++port.failures;
    port.paused_ticks += port.is_paused ? now() - port.paused_since : 0;
    port.is_paused = port.has_paused = false;
    senders_.stop_timer(port.pause_timer);
    flush(number);
}

// All that waits at a port is lost.
void Simulator::flush(u32 number) {
    Port& port = ports_[number];
    while (!port.control.empty()) {
        lose(port.control.pop(packets_));
    }
    while (!port.waits.empty()) {
        const u32 packet = port.waits.pop(packets_);
        if (!port.is_host) {   // else it is an ACK of the host
            leave_unsent(number, packet);
        }
        lose(packet);
    }
    while (!port.relayed.empty()) {
        const u32 packet = port.relayed.pop(packets_);
        leave_unsent(number, packet);
        lose(packet);
    }
    while (!queues_.empty() && queues_[number] != nullptr) {
        const u32 packet = queues_[number]->pop();
        if (packet == none) {
            break;
        }
        leave_unsent(number, packet);
        lose(packet);
    }
    port.queue_bytes = 0;
}

// The buffer of a packet is free, and its neighbour may go on.
void Simulator::leave_unsent(u32 number, u32 packet) {
    Port& port = ports_[number];
    const Packet& of = packets_[packet];
    port.data_bytes -= of.bytes;
    Port& in = ports_[of.link];
    SharedBuffer& buffer = buffers_[port.from];
    buffer.leave(in, of.bytes);
    if (in.has_paused && buffer.should_resume(in)) {
        in.has_paused = false;
        send_pause(in.twin, PacketKind::resume);
    }
}

void Simulator::lose(u32 packet) {
    const Packet& of = packets_[packet];
    if (of.kind == PacketKind::data) {
        ++lost_.packets;
        lost_.bytes += of.payload;
    }
    packets_.give_back(packet);
}

void Simulator::set_ways(Sender& sender, const FlowSpec& ways) {
    sender.data_route = ways.data_route;
    sender.ack_route = ways.ack_route;
    sender.data_is_all_ahead = read_route(ways.data_route + 1, sender.data_ahead);
    sender.ack_is_all_ahead = read_route(ways.ack_route + 1, sender.ack_ahead);
    sender.ack_port = routes_[ways.ack_route];
    sender.first_way = ways.first_way;
    sender.ways = static_cast<u16>(ways.ways);
    sender.is_sprayed = ways.ways != 0;
    sender.data_links = static_cast<u16>(route(ways.data_route).size());
}

void Simulator::take_ways(u32 number, const FlowSpec& ways) {
    Sender& sender = senders_[number];
    set_ways(sender, ways);
    const u32 port = routes_[ways.data_route];
    if (port != sender.port) {
        const bool has_place = sender.place != none;
        if (has_place) {
            nics_[ports_[sender.port].nic].remove(senders_, senders_.ready[sender.port], number);
        }
        sender.port = port;
        sender.line_rate = ports_[port].bits_per_s;
        sender.rate = std::min(sender.rate, sender.line_rate);
        if (has_place) {
            nics_[ports_[port].nic].add(senders_, number);
        }
    }
    if (sender.is_cut) {
        go_on_again(number);
    } else {
        transmit(port);
    }
}

void Simulator::cut(u32 number) {
    Sender& sender = senders_[number];
    sender.is_cut = true;
    ++cut_;
    senders_.stop_timer(sender.retransmission);
    if (sender.place != none) {
        nics_[ports_[sender.port].nic].remove(senders_, senders_.ready[sender.port], number);
    }
    if (!scheme_->connects) {
        control_->end(number);
    }
}

void Simulator::go_on_again(u32 number) {
    Sender& sender = senders_[number];
    sender.is_cut = false;
    --cut_;
    sender.timeouts = 0;
    sender.next_available = last_progress_ = now();
    if (!sender.is_open) {
        connect(number);
        return;
    }
    if (!scheme_->connects) {
        sender.rate = sender.line_rate = ports_[sender.port].bits_per_s;
        sender.window_now = sender.window;
        control_->begin(number);
    }
    lose_under_way(number);
    nics_[ports_[sender.port].nic].add(senders_, number);
    if (sender.next > sender.acknowledged) {
        expect_answer(number);
    }
    transmit(sender.port);
}

}  // namespace yantra::packet
