#include "network/fabric_queues.hpp"

#include <algorithm>
#include <span>

#include "base/ensure.hpp"

namespace yantra {

FabricQueues::FabricQueues(const NetworkSetup& setup)
    : ways_(setup.parameters, setup.grid),
      scale_(setup.semantics.scale),
      queue_(setup.engine.queue),
      probe_(setup.engine.recorder()),
      tiers_(setup.parameters, ways_),
      changes_(setup.parameters, ways_.links(), setup.engine.queue, changes, known),
      queues_(ways_.links()),
      use_(ways_.links()),
      busy_until_(tiers_.any() ? ways_.links() : 0) {
    probe_.keeps(ways_.links(), ways_.groups(), [this](u32 link) { return ways_.group(link); });
    for (u32 link = 0; changes_.any() && link < ways_.links(); ++link) {
        rates_.push_back(ways_.bytes_per_ns(link));
    }
}

void FabricQueues::send(const Message& message, Notice arrived, Notice departed) {
    if (changes_.rests()) [[unlikely]] {
        change_links();
    }
    const u32 number = transits_.take_as_left();
    Transit& transit = transits_[number];
    transit.bytes = message.bytes;
    transit.hop = 0;
    transit.arrived = arrived;
    transit.departed = departed;
    transit.to = ways_.place(message.dst);
    transit.packet = ways_.by_packet() ? sent_++ : 0;
    transit.waits_since = never;
    transit.was_rerouted = transit.has_waited = false;
    ways_.route(ways_.place(message.src), transit.to, transit.packet, this, transit.path);
    double latency_ns = 0.0;
    for (u32 link : transit.path) {
        latency_ns += ways_.latency_ns(link);
    }
    probe_.sent(number);
    probe_.takes(scale_.ticks(latency_ns));
    ++under_way_;
    offer(number);
}

void FabricQueues::handle(const Event& event) {
    switch (static_cast<Kind>(event.kind.kind())) {
        case hop_done: offer(event.index); return;
        case link_free: free_link(event.index); return;
        case changes: change_links(); return;
        case known: reroute(); return;
        case crossed: is_through(event.index); return;
        case freed:
            if (!crossings_[event.index].is_void) {
                const u32 link = crossings_[event.index].link;
                queues_[link].crossing = none;
                free_link(link);
            }
            end_event(event.index);
            return;
    }
}

void FabricQueues::free_link(u32 link) {
    Queue& of = queues_[link];
    of.busy = false;
    if (!of.waiting.empty() && !changes_.is_down(LinkId(link))) {
        const u32 transit = of.waiting.front();
        of.waiting.pop_front();
        of.waiting_bytes -= transits_[transit].bytes;
        transmit(link, transit);
    }
}

void FabricQueues::offer(u32 number) {
    Transit& transit = transits_[number];
    if (transit.hop == transit.path.size()) {
        arrive(number);
        return;
    }
    if (tiers_.has(transit.path[transit.hop])) {
        cross_by_formula(number);
        return;
    }
    const u32 link = transit.path[transit.hop];
    if (changes_.is_avoided(LinkId(link)) && take_another_way(number)) {
        offer(number);
        return;
    }
    Queue& of = queues_[link];
    if (of.busy || changes_.is_down(LinkId(link))) {
        of.waiting.push_back(number);
        of.waiting_bytes += transit.bytes;
        if (changes_.is_down(LinkId(link))) {
            wait(number);
        }
    } else {
        transmit(link, number);
    }
}

void FabricQueues::arrive(u32 number) {
    probe_.arrives(number);
    queue_.schedule(queue_.now(), transits_[number].arrived);
    probe_.arrival_scheduled();
    transits_.give_back(number);
    --under_way_;
}

void FabricQueues::transmit(u32 link, u32 number) {
    Transit& transit = transits_[number];
    queues_[link].busy = true;
    use_[link].bytes += transit.bytes;
    use_[link].messages += 1;
    ++transit.hop;
    if (changes_.any()) {
        Crossing made;
        made.transit = number;
        made.link = link;
        made.left = static_cast<double>(transit.bytes);
        made.left_bytes = transit.bytes;
        made.departed = transit.departed;
        transit.departed = {};
        cross(made);
        return;
    }
    const double crossing_ns = static_cast<double>(transit.bytes) / ways_.bytes_per_ns(link);
    const u64 busy = scale_.ticks(crossing_ns);
    const u64 now = queue_.now();
    use_[link].busy_ticks += busy;
    probe_.carried(number, link, now, now + busy, transit.bytes);
    if (!transit.departed.kind.is_none()) {
        queue_.schedule(now + busy, transit.departed);
        transit.departed = {};
    }
    queue_.schedule(now + scale_.ticks(ways_.latency_ns(link) + crossing_ns), {Owner::network, hop_done}, number);
    queue_.schedule(now + busy, {Owner::network, link_free}, link);
}

void FabricQueues::cross_by_formula(u32 number) {
    Transit& transit = transits_[number];
    const std::span<const u32> ahead = std::span<const u32>(transit.path).subspan(transit.hop);
    const FormulaTiers::Stretch stretch = tiers_.stretch(ways_, ahead);
    const double transfer_ns = static_cast<double>(transit.bytes) / stretch.bytes_per_ns;
    const u64 now = queue_.now();
    const u64 ends = now + scale_.ticks(transfer_ns);
    for (u32 link : ahead.first(stretch.links)) {
        use_[link].bytes += transit.bytes;
        use_[link].messages += 1;
        use_[link].busy_ticks += ends - std::min(ends, std::max(now, busy_until_[link]));
        busy_until_[link] = std::max(busy_until_[link], ends);
        probe_.carried(number, link, now, ends, transit.bytes);
    }
    transit.hop += static_cast<u32>(stretch.links);
    if (!transit.departed.kind.is_none()) {
        queue_.schedule(ends, transit.departed);
        transit.departed = {};
    }
    queue_.schedule(now + scale_.ticks(stretch.latency_ns + transfer_ns), {Owner::network, hop_done}, number);
}

}  // namespace yantra
