#include "network/flow/level/flows.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/interruption.hpp"
#include "network/flow/level/faults.hpp"
#include "network/flow/level/holds.hpp"

namespace yantra::inline YANTRA_RUN::flow {

u32 Flows::parts_of(u64 bytes) const {
    return all_.routes.are_parted() ? static_cast<u32>(std::min<u64>(all_.most_parts, std::max<u64>(bytes, 1))) : 1;
}

Alone Flows::send(TransitId transit, u32 from, u32 to, u64 bytes, u64 order) {
    const u32 parts = all_.transits[transit].parts_left;
    Alone alone;
    for (u32 packet = 0; packet < parts; ++packet) {
        Part part;
        part.transit = transit;
        part.from = from;
        part.to = to;
        part.packet = packet;
        part.route = all_.routes.between(from, to, packet);
        part.bytes = bytes / parts + (packet < bytes % parts ? 1 : 0);
        part.order = order;
        const double transfer_ns = static_cast<double>(part.bytes) / all_.routes[part.route].bytes_per_ns;
        const double latency_ns = all_.routes.latency_ns(part.route);
        alone = {std::max(alone.transfer_ns, transfer_ns), std::max(alone.latency_ns, latency_ns)};
        holds_.meet(part.route);
        part.enters_ns = all_.clock.now_ns() + latency_ns;
        const PartId number = add(part);
        all_.clock.schedule(all_.clock.tick_of(part.enters_ns), Kind::enters, number.index());
    }
    return alone;
}

PartId Flows::add(const Part& added) {
    const PartId number = all_.parts.take(added);
    Part& part = all_.parts[number];
    part.next = std::exchange(all_.transits[part.transit].first_part, number);
    all_.carried.add(part.route, static_cast<i64>(part.bytes), 1);
    all_.sending.starts(part);
    holds_.count(part.route, 1);
    return number;
}

void Flows::comes(PartId part) {
    if (!all_.parts[part].is_over) {
        entering_.push_back(part);
        all_.settle_later();
    }
}

void Flows::enter_all() {
    if (entering_.empty()) {
        return;
    }
    double start_ns = no_end_ns;
    for (PartId part : entering_) {
        start_ns = std::min(start_ns, all_.parts[part].enters_ns);
    }
    end(start_ns);
    start_ns = std::max(start_ns, all_.sharing.now_ns());
    if (entering_.size() > 1) {
        std::ranges::stable_sort(entering_, {}, [this](PartId part) { return all_.parts[part].order; });
    }
    for (std::size_t at = 0; at < entering_.size(); ++at) {   // more may come
        look_up();
        const PartId number = entering_[at];
        const Part& part = all_.parts[number];
        if (!all_.sending.follows(part) || part.is_in_line || !lines_.waits(number)) {
            begin(number, start_ns);
        }
    }
    entering_.clear();
}

void Flows::begin(PartId number, double start_ns) {
    Part& part = all_.parts[number];
    part.entered = all_.clock.now();
    if (faults_.is_cut(part.route)) {
        faults_.take_another_way(number);
    }
    const Route& route = all_.routes[part.route];
    if (part.bytes > 0 && route.of_class == none && std::isfinite(route.bytes_per_ns)) {
        part.by_formula = true;
        all_.carried.begins(part.route, all_.clock.now());
        const double ends_ns = part.enters_ns + static_cast<double>(part.bytes) / route.bytes_per_ns;
        all_.clock.schedule(all_.clock.tick_of(ends_ns), Kind::formula, number.index());
        return;
    }
    if (part.bytes == 0 || route.of_class == none) {
        arrive(number);
        return;
    }
    holds_links(number, all_.sharing.start(route.of_class, static_cast<double>(part.bytes), start_ns));
    faults_.watch(number);
}

void Flows::holds_links(PartId number, u32 flow) {
    all_.parts[number].flow = flow;
    if (part_of_.size() <= flow) {
        part_of_.resize(flow + std::size_t{1});
    }
    part_of_[flow] = number;
    all_.carried.begins(all_.parts[number].route, all_.clock.now());
}

void Flows::end(double until_ns) {
    while (all_.sharing.next_end_ns() <= until_ns) {
        ended_.clear();
        all_.sharing.end_next(ended_);
        for (u32 flow : ended_) {
            all_.carried.ends(all_.parts[part_of_[flow]].route, all_.clock.now());
            arrive(part_of_[flow]);
        }
    }
}

void Flows::is_through(PartId part) {
    if (!all_.parts[part].is_over) {
        all_.carried.ends(all_.parts[part].route, all_.clock.now());
        arrive(part);
    }
}

void Flows::arrive(PartId number) {
    Part& part = all_.parts[number];
    part.is_over = true;
    part.flow = none;
    all_.note_carried(part, part.bytes, all_.clock.now());
    all_.sending.stops(part);
    if (part.is_in_line) {
        next_in_line(number);
    }
    holds_.count(part.route, -1);
    if (--all_.transits[part.transit].parts_left == 0) {
        arrive_whole(part.transit);
    }
}

void Flows::next_in_line(PartId number) {
    const PartId next = lines_.pass_on(number);
    if (next.is_none()) {
        return;
    }
    Part& part = all_.parts[next];
    part.enters_ns = std::max(all_.clock.now_ns() - all_.clock.ns_of_ticks(0.5), all_.sharing.now_ns());
    departures_.ask_when_through(part);
    entering_.push_back(next);
    all_.settle_later();
}

void Flows::arrive_whole(TransitId number) {
    Transit& transit = all_.transits[number];
    for (PartId part = transit.first_part; !part.is_none();) {
        const PartId next = all_.parts[part].next;
        all_.parts.give_back(part);
        part = next;
    }
    transit.first_part = PartId::none;
    const Notice arrived = transit.arrived;
    --all_.under_way;
    if (transit.is_background()) {
        all_.transits.give_back(number);
        return;
    }
    all_.probe.arrives(number.index());
    transit.has_arrived = true;
    departures_.depart(transit);
    if (!transit.is_asking) {
        all_.transits.give_back(number);
    }
    all_.clock.schedule(arrived);
    all_.probe.arrival_scheduled();
}

// Pending events may name the part and its message.
void Flows::stop(PartId number, double now_ns, u64 tick) {
    Part& part = all_.parts[number];
    const Route& route = all_.routes[part.route];
    double carried = 0.0;
    if (part.flow != none) {
        carried = static_cast<double>(part.bytes) - all_.sharing.stop(part.flow, now_ns);
    } else if (route.of_class == none) {
        carried = (now_ns - part.enters_ns) * route.bytes_per_ns;
    }
    const bool has_entered = part.flow != none || part.by_formula;
    const u64 bytes = has_entered ? std::min(static_cast<u64>(std::llround(std::max(carried, 0.0))), part.bytes) : 0;
    all_.carried.add(part.route, static_cast<i64>(bytes) - static_cast<i64>(part.bytes), has_entered ? 0 : ~u64{0});
    if (has_entered) {
        all_.carried.ends(part.route, tick);
        all_.note_carried(part, bytes, tick);
    }
    all_.sending.stops(part);
    part.is_over = true;
    part.flow = none;
    all_.under_way -= --all_.transits[part.transit].parts_left == 0 ? 1 : 0;
}

void Flows::settle() {
    all_.is_settling = false;
    enter_all();
    while (all_.sharing.next_end_ns() != no_end_ns &&
           all_.clock.tick_of(all_.sharing.next_end_ns()) <= all_.clock.now()) {
        end(all_.sharing.next_end_ns());
    }
    departures_.answer_all();
    const double next_end_ns = all_.sharing.next_end_ns();
    if (next_end_ns != std::exchange(next_end_ns_, next_end_ns)) {
        ++wake_;
        if (next_end_ns != no_end_ns) {
            all_.clock.schedule(all_.clock.tick_of(next_end_ns), Kind::ends, wake_);
        }
    }
}

}  // namespace yantra::inline YANTRA_RUN::flow
