#include "network/packet/simulator.hpp"

#include <algorithm>
#include <stdexcept>
#include <string>

namespace yantra::packet {

namespace {

// Throws std::invalid_argument, with the reason, if packets of one message may not overtake each other.
void check_may_part(const Settings& settings, const Scheme& scheme) {
    if (settings.recovery != RecoveryKind::selective_repeat) {
        throw std::invalid_argument(
            std::string("packets of one message would overtake each other by this routing, and ") +
            (settings.recovery == RecoveryKind::go_back_n ? "the recovery go_back_n takes them in order alone"
                                                       : "TCP takes that for losses") +
            "; take recovery selective_repeat with reordering, the preset uec, or the routing ecmp");
    }
    if (scheme.telemetry >= TelemetryKind::hops) {
        throw std::invalid_argument(scheme.name + " reads what the switches of one way say, and this routing has "
                                    "many; take another congestion control, or the routing ecmp");
    }
}

}  // namespace

Simulator::Simulator(const FabricSpec& fabric, const Settings& settings, Observer& observer, const Part& part)
    : all_(fabric, settings, observer, part),
      steering_(all_.ports, all_.senders),
      queues_(all_),
      watch_(all_, queues_),
      transmitter_(all_, queues_, watch_, switches_, hosts_, faults_),
      switches_(all_, fabric, watch_, transmitter_, recovery_, faults_),
      hosts_(all_, watch_, transmitter_, recovery_, switches_),
      recovery_(all_, transmitter_, hosts_),
      faults_(all_, queues_, watch_, transmitter_, switches_, hosts_, recovery_),
      state_(all_, hosts_, switches_, part.links) {
    if (part.routes != nullptr) {
        keep_hops();
    }
}

u32 Simulator::add_route(std::span<const u32> links) {
    const u32 route = all_.routes.add(links);
    keep_hops();
    return route;
}

void Simulator::keep_hops() {
    const u32 most = all_.routes.most_links();
    if (all_.scheme.telemetry == TelemetryKind::hops && !all_.settings.has(Quirk::narrow_telemetry) &&
        most > all_.packets.hops_kept() + 1) {
        all_.packets.keep_hops(most - 1, *all_.control);
    }
}

void Simulator::run_before(u64 tick) {
    while (!at_once_.empty() || (!all_.senders.wheel.empty() && all_.senders.wheel.next_time() < tick)) {
        step();
    }
}

void Simulator::take_in(const Crossings& come) {
    auto hops = come.hops.cbegin();
    for (const Crossings::Crossing& of : come.all) {
        const PacketId packet = all_.packets.take();
        all_.packets[packet] = of.packet;
        std::copy_n(hops, of.hops, all_.packets.all_telemetry_of(packet).begin());
        hops += of.hops;
        all_.senders.wheel.schedule(of.tick, event(EventKind::arrived, packet));
    }
}

u32 Simulator::add_ways(std::span<const u32> routes) {
    check_may_part(all_.settings, all_.scheme);
    return all_.routes.add_ways(routes);
}

Steering& Simulator::steer_by(Chooser& chooser) {
    check_may_part(all_.settings, all_.scheme);
    steering_.by(chooser);
    return steering_;
}

// Prefetches what an event will read. GCC otherwise drops calls that only prefetch.
struct Simulator::Ahead {
    const Simulator& of;

    [[gnu::always_inline]] static void fetch(const void* line) {
        __builtin_prefetch(line, 1);
        asm volatile("");
    }
    [[gnu::always_inline]] static void fetch_lines(const void* line) {
        fetch(line);
        fetch(static_cast<const char*>(line) + 64);
    }

    [[gnu::always_inline]] void is_far(u32 what) const {
        const u32 index = what & event_index;
        if (kind_of(what) == EventKind::arrived) {
            fetch(&of.all_.packets[PacketId(index)]);
        } else if (kind_of(what) == EventKind::sent) {
            fetch_lines(&of.all_.ports[PortId(index)]);
        }
    }
    [[gnu::always_inline]] void is_near(u32 what) const {
        const u32 index = what & event_index;
        if (kind_of(what) == EventKind::arrived) {
            fetch_for_arrival(of.all_.packets[PacketId(index)]);
        } else if (kind_of(what) == EventKind::sent) {
            fetch_for_next(PortId(index));
        }
    }

    [[gnu::always_inline]] void fetch_for_arrival(const Packet& packet) const {
        if (!packet.ahead[0].is_none() || packet.sender.is_none()) {
            return;   // it goes on, or is for a port
        }
        if (packet.kind == PacketKind::data) {
            fetch(&of.all_.senders.received_from(packet.sender).expected);
        } else {
            fetch_lines(&of.all_.senders[of.all_.senders.named(packet.sender)]);
        }
    }
    [[gnu::always_inline]] void fetch_for_next(PortId number) const {
        const Port& port = of.all_.ports[number];
        if (!port.waits.first.is_none()) {
            fetch(&of.all_.packets[port.waits.first]);
        } else if (port.is_host) {
            const SenderId sender = of.hosts_.likely_next(number);
            if (!sender.is_none()) {
                fetch_lines(&of.all_.senders[sender]);
            }
        }
    }
};

[[gnu::noinline]] u32 Simulator::first_of_tick(u32 what) {
    return at_once_.take(what, all_.senders.wheel, [this](EventKind kind, u32 index) {
        if (kind == EventKind::begins) {
            return hosts_.place_of(hosts_.waiting(index));
        }
        const Packet& packet = all_.packets[PacketId(index)];
        return place_in_tick(packet.order, packet.sequence, packet.link);
    });
}

// With quirks, in the order of scheduling.
inline u32 Simulator::next_event() {
    if (!at_once_.empty()) [[unlikely]] {
        return at_once_.next();
    }
    Wheel& wheel = all_.senders.wheel;
    const u32 what = all_.packets.fetches() ? wheel.next(Ahead{*this}) : wheel.next();
    if (all_.settings.quirks != 0 || !wheel.has_more_now()) {
        return what;
    }
    return first_of_tick(what);
}

[[gnu::always_inline]] inline void Simulator::arrive(PacketId packet) {
    Packet& of = all_.packets[packet];
    if (faults_.has_taken(of)) [[unlikely]] {
        faults_.lose(packet);
    } else if (of.kind >= PacketKind::pause) {
        const PortId port = all_.ports[of.link].twin;
        const PacketKind kind = of.kind;
        all_.packets.give_back(packet);
        switches_.obey(port, kind);
    } else if (of.is_steered && !steering_.steer(of)) [[unlikely]] {
        faults_.lose(packet);
    } else if (all_.routes.has_next_link(of)) {
        switches_.forward(packet);
    } else if (of.kind == PacketKind::data) {
        hosts_.receive_data(packet);
    } else if (of.kind == PacketKind::open) [[unlikely]] {
        hosts_.receive_opening(packet);
    } else {
        hosts_.receive_ack(packet);
    }
}

void Simulator::step() {
    const u32 what = next_event();
    const u32 index = what & event_index;
    switch (kind_of(what)) {
        case EventKind::sent: transmitter_.is_free(PortId(index)); break;
        case EventKind::arrived: arrive(PacketId(index)); break;
        case EventKind::timer: fire(index); break;
        case EventKind::begins: all_.senders.wheel.schedule(now(), event(EventKind::created, index)); break;
        case EventKind::created: all_.senders.wheel.schedule(now(), event(EventKind::starts, index)); break;
        case EventKind::starts: hosts_.start(index); break;
        case EventKind::samples: watch_.note_sample(); break;
        case EventKind::sweeps: watch_.sweep(); break;
    }
}

void put_in_order(std::span<FlowSpec> sent, const Simulator& simulator) {
    std::stable_sort(sent.begin(), sent.end(), [&simulator](const FlowSpec& one, const FlowSpec& other) {
        return simulator.place_of(one) < simulator.place_of(other);
    });
}

void Simulator::fire(u32 number) {
    const std::optional<Timer> timer = all_.senders.expire_timer(number);
    if (!timer) {
        return;
    }
    switch (timer->kind) {
        case TimerKind::nic:
            all_.senders.wake_timers[PortId(timer->index)] = none;
            transmitter_.transmit(PortId(timer->index));
            break;
        case TimerKind::pause_ends: switches_.end_pause(PortId(timer->index)); break;
        case TimerKind::retransmits: recovery_.time_out(SenderId(timer->index)); break;
        case TimerKind::grants: hosts_.grant(PortId(timer->index)); break;
        case TimerKind::of_scheme: all_.control->timer(SenderId(timer->index), timer->own); break;
    }
}

}  // namespace yantra::packet
