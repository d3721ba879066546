#include "network/fabric_queues.hpp"

#include "base/ensure.hpp"

namespace yantra {

FabricQueues::FabricQueues(const Model& model, const Grid& grid, Engine& engine)
    : ways_(model, grid),
      scale_(model.scale),
      queue_(engine.queue),
      probe_(engine.recorder()),
      queues_(ways_.links()),
      use_(ways_.links()) {
    probe_.keeps(ways_.links(), ways_.groups(), [this](u32 link) { return ways_.group(link); });
}

void FabricQueues::send(const Message& message, Notice arrived, Notice departed) {
    const u32 number = transits_.take_as_left();
    Transit& transit = transits_[number];
    transit.bytes = message.bytes;
    transit.hop = 0;
    transit.arrived = arrived;
    transit.departed = departed;
    const u32 packet = ways_.by_packet() ? sent_++ : 0;
    ways_.route(ways_.place(message.src), ways_.place(message.dst), packet, this, transit.path);
    double latency_ns = 0.0;
    for (u32 link : transit.path) {
        latency_ns += ways_.latency_ns(link);
    }
    probe_.sent(number);
    probe_.takes(scale_.ticks(latency_ns));
    offer(number);
}

void FabricQueues::handle(const Event& event) {
    if (event.kind.kind() == hop_done) {
        offer(event.index);
        return;
    }
    Queue& of = queues_[event.index];
    of.busy = false;
    if (!of.waiting.empty()) {
        const u32 transit = of.waiting.front();
        of.waiting.pop_front();
        of.waiting_bytes -= transits_[transit].bytes;
        transmit(event.index, transit);
    }
}

// To the next link of its path, or to its destination.
void FabricQueues::offer(u32 number) {
    Transit& transit = transits_[number];
    if (transit.hop == transit.path.size()) {
        probe_.arrives(number);
        queue_.schedule(queue_.now(), transit.arrived);
        probe_.arrival_scheduled();
        transits_.give_back(number);
        return;
    }
    Queue& of = queues_[transit.path[transit.hop]];
    if (of.busy) {
        of.waiting.push_back(number);
        of.waiting_bytes += transit.bytes;
    } else {
        transmit(transit.path[transit.hop], number);
    }
}

void FabricQueues::transmit(u32 link, u32 number) {
    Transit& transit = transits_[number];
    const double crossing_ns = static_cast<double>(transit.bytes) / ways_.bytes_per_ns(link);
    const u64 busy = scale_.ticks(crossing_ns);
    const u64 now = queue_.now();
    queues_[link].busy = true;
    use_[link].bytes += transit.bytes;
    use_[link].messages += 1;
    use_[link].busy_ticks += busy;
    probe_.carried(number, link, now, now + busy, transit.bytes);
    ++transit.hop;
    if (!transit.departed.kind.is_none()) {
        queue_.schedule(now + busy, transit.departed);
        transit.departed = {};
    }
    queue_.schedule(now + scale_.ticks(ways_.latency_ns(link) + crossing_ns), {Owner::network, hop_done}, number);
    queue_.schedule(now + busy, {Owner::network, link_free}, link);
}

}  // namespace yantra
