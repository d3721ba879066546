// Phases of a collective among equal ranks, held on their links as one: known beforehand, if nothing else comes.
//
// Only over classes of links. Trade-off: whoever meets a held link makes the folded run begin anew, with all messages.
#include "network/flow_network.hpp"

namespace yantra {

u64 FlowNetwork::alone_ticks(u32 number, u64 bytes) const {
    const Route& route = routes_[number];
    return scale_.ticks(route.way.latency_ns + static_cast<double>(bytes) / route.alike_bytes_per_ns + nudge_ns_);
}

u64 FlowNetwork::undisturbed(const Message& message) {
    return alone_ticks(route_of(ways_->place(message.src), ways_->place(message.dst), 0), message.bytes);
}

bool FlowNetwork::hold(std::span<const MessagesInTurn> messages, u64 ticks) {
    for (const auto& [message, times] : messages) {
        for (u32 link : routes_[route_of(ways_->place(message.src), ways_->place(message.dst), 0)].way.links) {
            if (under_way_over_[link] > 0 || held_until_[link] > queue_.now()) {
                return false;
            }
        }
    }
    for (const auto& [message, times] : messages) {
        const u32 number = route_of(ways_->place(message.src), ways_->place(message.dst), 0);
        const Way& way = routes_[number].way;
        const u64 entered = scale_.ticks(way.latency_ns + nudge_ns_);
        carry(number, static_cast<i64>(message.bytes * times), static_cast<u32>(times));
        for (u32 link : way.links) {
            held_until_[link] = queue_.now() + ticks;
            use_[link].busy_ticks += times * (alone_ticks(number, message.bytes) - entered);
        }
    }
    return true;
}

}  // namespace yantra
