// Links of the flow network held for a phase among equal ranks (network/held_links.hpp).
//
// Only over classes of links with nothing else under way. So a flow that is carried on was alone,
// and its rate gives what is left.
#include <algorithm>

#include "network/flow_network.hpp"

namespace yantra {

namespace {

constexpr double least_bytes = 1e-9;   // left of what ends in this tick

}  // namespace

u64 FlowNetwork::alone_ticks(u32 number, u64 bytes) const {
    const Route& route = routes_[number];
    return scale_.ticks(known_ways_.latency_ns(number) + static_cast<double>(bytes) / route.alike_bytes_per_ns + nudge_ns_);
}

void FlowNetwork::carry_alone(u32 number, u64 bytes, u64 times, Uses& uses) const {
    const u64 entered = scale_.ticks(known_ways_.latency_ns(number) + nudge_ns_);
    carry(number, static_cast<i64>(bytes * times), times, uses);
    for (u32 link : known_ways_.links(number)) {
        uses.whole[link].busy_ticks += times * (alone_ticks(number, bytes) - entered);
    }
}

u64 FlowNetwork::undisturbed(const Message& message) {
    return alone_ticks(route_of(ways_->place(message.src), ways_->place(message.dst), 0), message.bytes);
}

u32 FlowNetwork::learn(std::span<const MessagesInTurn> messages) {
    Turn turn;
    for (const auto& [message, times] : messages) {
        const u32 route = route_of(ways_->place(message.src), ways_->place(message.dst), 0);
        turn.messages.push_back({route, message.bytes, times});
        for (u32 link : known_ways_.links(route)) {
            if (std::find(turn.links.begin(), turn.links.end(), link) == turn.links.end()) {
                turn.links.push_back(link);
            }
        }
    }
    turns_.push_back(std::move(turn));
    return static_cast<u32>(turns_.size() - 1);
}

bool FlowNetwork::hold(u32 learnt, u64 ticks, u32 name) {
    Turn& turn = turns_[learnt];
    const u64 now = queue_.now();
    for (u32 link : turn.links) {
        if (under_way_over_[link] > 0 || held_[link].until > now) {
            return false;
        }
    }
    for (u32 link : turn.links) {
        held_[link] = {now + ticks, name};
    }
    ++turn.holds;
    return true;
}

// Holders of the route's links must report what is under way.
void FlowNetwork::meet(u32 route) {
    const u64 now = queue_.now();
    const std::size_t hops = known_ways_.links(route).size();
    for (std::size_t at = 0; at < hops; ++at) {
        const u32 link = known_ways_.links(route)[at];   // they may move
        if (held_[link].until > now) {
            holder_->meets(held_[link].name);
            ensure(held_[link].until <= now, "a holder that does not give up its links");
        }
    }
}

void FlowNetwork::give_up(u32 learnt, std::span<const u64> through) {
    Turn& turn = turns_[learnt];
    for (u32 link : turn.links) {
        held_[link].until = queue_.now();
    }
    --turn.holds;
    for (std::size_t i = 0; i < turn.messages.size(); ++i) {
        carry_alone(turn.messages[i].route, turn.messages[i].bytes, through[i], uses_);
    }
}

// As if sent then: waiting out the latency, or holding links with the bytes left.
void FlowNetwork::carry_on(const Message& message, Notice arrived, i64 since) {
    const u64 now = queue_.now();
    const u32 transit = transits_.take();
    transits_[transit] = {none, 1, arrived, {}, false};
    ++under_way_;
    Part part;
    part.transit = transit;
    part.from = ways_->place(message.src);
    part.to = ways_->place(message.dst);
    part.route = route_of(part.from, part.to, 0);
    part.bytes = message.bytes;
    part.order = message.order;
    const Route& route = routes_[part.route];
    const double enters_ns =
        static_cast<double>(now - static_cast<u64>(since)) / ticks_per_ns_ + known_ways_.latency_ns(part.route);
    const u64 enters_tick = scale_.ticks(enters_ns + nudge_ns_);
    part.enters_ns = enters_ns;
    const u32 number = parts_.take(part);
    parts_made_ = std::max(parts_made_, number + 1);
    transits_[transit].first_part = number;
    carry(part.route, static_cast<i64>(part.bytes), 1, uses_);
    count_sent(parts_[number], true);
    note_under_way(part.route, 1);
    if (enters_tick > now) {
        queue_.schedule(enters_tick, {Owner::network, enters}, number);
        return;
    }
    settle_later();
    if (enters_tick == now || message.bytes == 0 || route.of_class == none) {
        entering_.push_back(number);
        return;
    }
    parts_[number].entered = enters_tick;
    if (follows(parts_[number])) {
        has_its_line(number);
    }
    end(enters_ns);
    const double start_ns = std::max(enters_ns, sharing_.now_ns());
    const double through = (start_ns - enters_ns) * route.alike_bytes_per_ns;
    const double left = std::max(static_cast<double>(message.bytes) - through, least_bytes);
    is_flow(number, sharing_.start(route.of_class, left, start_ns));
    for (u32 link : known_ways_.links(part.route)) {
        busy_since_[link] = enters_tick;
    }
}

}  // namespace yantra
