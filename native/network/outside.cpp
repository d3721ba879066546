#include "network/outside.hpp"

#include <algorithm>

#include "base/never.hpp"
#include "base/unsupported.hpp"
#include "network/crossed.hpp"

namespace yantra {

OutsideNetwork::OutsideNetwork(const NetworkSetup& setup)
    : grid_(setup.grid),
      queue_(setup.engine.queue),
      scale_(setup.semantics.scale),
      has_routes_(setup.parameters.fabric != nullptr && setup.parameters.choice.from_outside->wants_routes()),
      probe_(setup.engine.recorder()) {
    if (setup.parameters.fabric != nullptr) {
        ways_.emplace(setup.parameters, grid_);
        probe_.keeps(ways_->links(), ways_->groups(), [this](u32 link) { return ways_->group(link); });
        probe_.shared(ways_->links());   // by messages at unknown rates
    }
    use_.resize(ways_ ? ways_->links() : grid_.dimensions());
    if (ways_ && ways_->by_load()) {
        loads_.resize(ways_->links());
    }
    network_ = setup.parameters.choice.from_outside->make(*this);
}

void OutsideNetwork::send(const Message& message, Notice arrived, Notice departed) {
    const u32 number = transits_.take_as_left();
    transits_made_ = std::max(transits_made_, number + 1);
    Transit& transit = transits_[number];
    transit.arrived = arrived;
    transit.departed = departed;
    transit.bytes = message.bytes;
    transit.sent_at = now();
    transit.under_way = true;
    transit.has_departed = false;
    transit.path.clear();
    probe_.sent(number);
    u32 from = message.src.index();
    u32 to = message.dst.index();
    if (ways_) {
        from = ways_->place(message.src);
        to = ways_->place(message.dst);
        route(transit, from, to);
    } else {
        for_each_crossed(grid_, message, [&](u32 d, u32, u32) { count(use_[d], message.bytes, 1); });
    }
    network_->sends(number, from, to, message.bytes, transit.path);
}

void OutsideNetwork::route(Transit& transit, u32 from, u32 to) {
    double latency_ns = 0.0;
    if (has_routes_) {
        const u32 packet = ways_->by_packet() ? sent_++ : 0;
        ways_->route(from, to, packet, ways_->by_load() ? this : nullptr, transit.path);
        for (u32 link : transit.path) {
            count(use_[link], transit.bytes, 1);
            use_[link].busy_ticks += scale_.ticks(static_cast<double>(transit.bytes) / ways_->bytes_per_ns(link));
            latency_ns += ways_->latency_ns(link);
            if (!loads_.empty()) {
                loads_[link] += transit.bytes;
            }
        }
    }
    probe_.takes(scale_.ticks(latency_ns));
}

u64 OutsideNetwork::next() const { return queue_.empty() ? never : queue_.next_time(); }

OutsideNetwork::Transit& OutsideNetwork::under_way(u32 message) {
    if (message >= transits_made_ || !transits_[message].under_way) {
        throw Unsupported("the network lets a message arrive that is not under way");
    }
    return transits_[message];
}

void OutsideNetwork::departs(u32 message, u64 tick) {
    Transit& transit = under_way(message);
    if (tick < now() || transit.has_departed) {
        throw Unsupported("the network lets a message leave before it was sent, or twice");
    }
    probe_.arrives(message);
    let_depart(transit, tick);
    probe_.arrival_scheduled();
}

void OutsideNetwork::let_depart(Transit& transit, u64 tick) {
    transit.has_departed = true;
    transit.departed_at = tick;
    if (!transit.departed.kind.is_none()) {
        queue_.schedule(tick, transit.departed);
    }
}

void OutsideNetwork::arrives(u32 message, u64 tick, u64 departed) {
    Transit& transit = under_way(message);
    const bool has_left_late = transit.has_departed && tick < transit.departed_at;
    if ((!transit.has_departed && departed < now()) || has_left_late || tick < now()) {
        throw Unsupported("the network lets a message arrive before it was sent");
    }
    probe_.arrives(message);
    if (!transit.has_departed) {
        let_depart(transit, departed);
    }
    queue_.schedule(tick, transit.arrived);
    probe_.arrival_scheduled();
    for (u32 link : transit.path) {
        probe_.carried(message, link, transit.sent_at, tick, transit.bytes);
        if (!loads_.empty()) {
            loads_[link] -= transit.bytes;
        }
    }
    transit.under_way = false;
    transits_.give_back(message);
}

void OutsideNetwork::wake(u64 tick, u32 token) {
    if (tick < now()) {
        throw Unsupported("the network asks to be woken in the past");
    }
    queue_.schedule(tick, {Owner::network, 0}, token);
}

}  // namespace yantra
