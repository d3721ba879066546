#include "network/packet/switches.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <utility>

#include "base/hash.hpp"
#include "network/packet/faults.hpp"
#include "network/packet/recovery.hpp"

namespace yantra::packet {

namespace {

constexpr u64 no_end = u64{1} << 62;
constexpr u64 seed_of_ports = 0x7061636b6574;

}  // namespace

Switches::Switches(Common& all, const FabricSpec& fabric, Watch& watch, Transmitter& transmitter, Recovery& recovery,
                   Faults& faults)
    : all_(all),
      watch_(watch),
      transmitter_(transmitter),
      recovery_(recovery),
      faults_(faults),
      buffers_(all.ports.devices()) {
    std::vector<std::vector<LinkId>> incoming(all_.ports.devices());
    all_.ports.each([&](LinkId link) {
        incoming[all_.ports[link].to].push_back(link);
        random_.add(Rng(all_.settings.seed, seed_of_ports, link.index()));
    });
    for (u32 device = 0; device < buffers_.size(); ++device) {
        if (!incoming[device].empty()) {
            add_buffer(fabric, device, incoming[device]);
        }
    }
}

void Switches::add_buffer(const FabricSpec& fabric, u32 device,
                          const std::vector<LinkId>& incoming) {
    const Settings& settings = all_.settings;
    const u64 own = fabric.buffer_bytes.empty() ? 0 : fabric.buffer_bytes[device];
    const u64 buffer = own == 0 ? settings.buffer_bytes : own;
    const auto& ports = all_.ports.all();
    const auto host = std::find_if(ports.begin(), ports.end(), [](const Port& port) { return port.is_host; });
    const u64 nic_rate = host == ports.end() ? 0 : host->bits_per_s;   // the shift of alpha counts from it
    const bool is_thin = settings.has(Quirk::thin_headroom);
    u64 needed = 0;
    for (LinkId link : incoming) {
        Port& port = all_.ports[link];
        port.threshold_shift = 3;
        for (u64 rate = port.bits_per_s; rate > nic_rate && port.threshold_shift > 0; rate /= 2) {
            --port.threshold_shift;
        }
        const auto bits = static_cast<unsigned __int128>(port.bits_per_s) * port.delay;
        const u64 flight = static_cast<u64>(bits / 8 / (u64{1000000000} * all_.senders.ticks_per_ns));
        if (port.by_formula && settings.pauses) {
            port.headroom = no_end;   // more may be under way than a link carries
            needed += reserve_bytes;
            continue;
        }
        // Twice the flight of a bit, a packet at either end, and the frame itself.
        const u64 at_ends = 2 * (u64{settings.payload_bytes} + all_.packets.data_header()) + pause_bytes;
        port.headroom = 3 * flight + (is_thin ? 0 : at_ends);
        needed += port.headroom + reserve_bytes;
    }
    SharedBuffer& made = buffers_[device];
    made.ports = static_cast<u32>(incoming.size());
    made.wraps = settings.has(Quirk::headroom_wraps);
    if (!made.wraps && !all_.ports.is_host(device)) {
        check_buffer(fabric.name(device), made.ports, buffer, needed);
    }
    made.sharable = made.wraps ? static_cast<u32>(buffer - needed) : std::max(buffer, needed) - needed;
}

void Switches::check_buffer(const std::string& name, u32 ports, u64 buffer, u64 needed) const {
    if (all_.settings.pauses && buffer <= needed) {
        throw std::invalid_argument(
            name + " has a buffer of " + std::to_string(buffer) + " bytes, and its " + std::to_string(ports) +
            " ports need " + std::to_string(needed) +
            " for head room alone, so PFC could never act; give it a buffer of more than " + std::to_string(needed) +
            " bytes, or turn PFC off");
    }
}

void Switches::forward(PacketId packet) {
    Packet& of = all_.packets[packet];
    const LinkId in_link = of.link;
    const LinkId out_link = of.ahead[0];
    of.ahead = {of.ahead[1], of.ahead[2], of.is_all_ahead ? LinkId::none : not_read};
    Port& out = all_.ports[out_link];
    if (out.is_down) [[unlikely]] {
        faults_.lose(packet);
        return;
    }
    if (transmitter_.is_control(of, false)) {
        transmitter_.enqueue(out_link, packet, out.control);
        return;
    }
    Port& in = all_.ports[in_link];
    SharedBuffer& buffer = buffers_[in.to];
    const u64 most = all_.settings.port_buffer_bytes;
    if ((most != 0 && out.data_bytes + of.bytes > most) || !buffer.admit(in, of.bytes)) {
        if (all_.settings.trims && of.kind == PacketKind::data) {
            trim(out_link, packet);
        } else {
            drop(packet);
        }
        return;
    }
    out.data_bytes += of.bytes;
    if (all_.settings.pauses && !in.twin.is_none() && buffer.should_pause(in)) {
        in.has_paused = true;
        send_pause(in.twin, PacketKind::pause);
    }
    transmitter_.enqueue(out_link, packet, out.is_host ? out.relayed : out.waits);
}

void Switches::drop(PacketId packet) {
    const LinkId link = all_.packets[packet].link;
    watch_.look(link);
    ++all_.ports[link].drops;
    ++all_.totals.drops;
    all_.packets.give_back(packet);
    if (!all_.can_lose) [[unlikely]] {
        all_.border.refuse("a packet was dropped, and then all senders watch for silence at once");
        recovery_.begins_to_lose();
    }
}

// Half of those that find no room take the place of the last in the queue, which is trimmed in their
// stead, so that flows in step do not lose all (Handley et al., SIGCOMM 2017). Headers may wait for
// twice as many bytes as data, or drop, too.
void Switches::trim(LinkId to, PacketId packet) {
    Port& port = all_.ports[to];
    const PacketQueue& queue = port.is_host ? port.relayed : port.waits;
    Packet& of = all_.packets[packet];
    const bool may_swap = !queue.empty() && all_.packets[queue.last].kind == PacketKind::data &&
                          all_.settings.queue == "fifo" && all_.scheme.telemetry < TelemetryKind::hops;
    if (may_swap && draw(to, of, port.data_bytes) < 0.5) {
        Packet& last = all_.packets[queue.last];
        SharedBuffer& buffer = buffers_[port.from];
        buffer.leave(all_.ports[last.link], last.bytes);
        if (buffer.admit(all_.ports[of.link], of.bytes)) {
            port.data_bytes += u64{of.bytes} - last.bytes;
            port.queue_bytes += u64{of.bytes} - last.bytes;
            all_.packets.swap(queue.last, packet);
        } else {
            buffer.admit(all_.ports[last.link], last.bytes);
        }
    }
    const u64 most = all_.settings.port_buffer_bytes;
    if (most != 0 && port.queue_bytes - port.data_bytes + trimmed_bytes > 2 * most) {
        drop(packet);
        return;
    }
    ++all_.totals.trims;
    of.is_trimmed = true;
    of.bytes = trimmed_bytes;
    transmitter_.enqueue(to, packet, port.control);
}

void Switches::depart(PortId number, PacketId packet) {
    Port& port = all_.ports[number];
    Packet& of = all_.packets[packet];
    if (!transmitter_.is_control(of, false)) {
        port.data_bytes -= of.bytes;
        Port& in = all_.ports[of.link];
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
    if (of.kind == PacketKind::data && all_.scheme.telemetry >= TelemetryKind::hops && !port.by_formula) {
        write_telemetry(number, packet);
    }
}

void Switches::leave_unsent(PortId number, PacketId packet) {
    Port& port = all_.ports[number];
    const Packet& of = all_.packets[packet];
    port.data_bytes -= of.bytes;
    Port& in = all_.ports[of.link];
    SharedBuffer& buffer = buffers_[port.from];
    buffer.leave(in, of.bytes);
    if (in.has_paused && buffer.should_resume(in)) {
        in.has_paused = false;
        send_pause(in.twin, PacketKind::resume);
    }
}

// Random early detection (Floyd and Jacobson, 1993) on the present length.
bool Switches::draws_mark(const Port& port, PortId number, const Packet& packet) {
    if (port.data_bytes > port.kmax) {
        return true;
    }
    const double share = static_cast<double>(port.data_bytes - port.kmin) / static_cast<double>(port.kmax - port.kmin);
    return draw(number, packet, port.data_bytes) < port.pmax * share;
}

// Depends on no device's number. With the quirk, each port draws from its own sequence.
double Switches::draw(PortId number, const Packet& packet, u64 state) {
    ++draws_;
    if (all_.settings.quirks != 0) {
        return random_[number].uniform();
    }
    return Rng(all_.settings.seed, mix(all_.now(), state), mix(packet.sequence, packet.order)).uniform();
}

void Switches::write_telemetry(PortId number, PacketId packet) {
    Port& port = all_.ports[number];
    Packet& of = all_.packets[packet];
    if (all_.scheme.telemetry == TelemetryKind::power) {
        write_power(port, of);
        return;
    }
    const auto waiting = static_cast<u32>(std::min<u64>(port.queue_bytes, none - 1));
    all_.packets.telemetry_at(packet, of.hops) = {all_.now(), port.sent_bytes, waiting, number};
    ++of.hops;
}

// PINT (Ben Basat et al., SIGCOMM 2020): `stamp` has power + 1, and 0 where no switch has written.
void Switches::write_power(Port& port, Packet& of) {
    const double base = all_.settings.option("log_base", 1.05);
    const double rtt = all_.senders.ns(all_.routes.largest_rtt() == 0 ? 1 : all_.routes.largest_rtt());
    const double most = all_.settings.max_rtt_ns > 0.0 ? all_.settings.max_rtt_ns : rtt;
    const double since = std::min(all_.senders.ns(all_.now() - port.last_tick), most);
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

void Switches::send_pause(PortId port, PacketKind kind) {
    const PacketId packet = all_.packets.take();
    Packet& frame = all_.packets[packet];
    frame = Packet{};
    frame.kind = kind;
    frame.bytes = pause_bytes;
    transmitter_.enqueue(port, packet, all_.ports[port].control);
}

void Switches::obey(PortId number, PacketKind kind) {
    watch_.look(number);
    Port& port = all_.ports[number];
    if (kind == PacketKind::pause) {
        ++port.pauses;
        port.paused_since = port.is_paused ? port.paused_since : all_.now();
        port.is_paused = true;
        if (!all_.settings.has(Quirk::pause_for_ever) && port.pause_timer == none) {
            start_pause(number);
        }
        return;
    }
    ++port.resumes;
    port.paused_ticks += port.is_paused ? all_.now() - port.paused_since : 0;
    port.is_paused = false;
    all_.senders.stop_timer(port.pause_timer);
    transmitter_.transmit(number);
}

void Switches::start_pause(PortId number) {
    all_.ports[number].pause_timer =
        all_.senders.start_timer(TimerKind::pause_ends, number, all_.senders.ticks(all_.settings.pause_ns));
}

void Switches::end_pause(PortId number) {
    Port& port = all_.ports[number];
    port.pause_timer = none;
    all_.border.refuse("a pause took as long as `pause`, and ends as the other end of its link says at once");
    if (port.has_paused && !buffers_[port.to].should_resume(port)) {
        start_pause(number);
        return;
    }
    watch_.look(number);
    port.has_paused = false;
    port.paused_ticks += all_.now() - port.paused_since;
    port.is_paused = false;
    transmitter_.transmit(number);
}

}  // namespace yantra::packet
