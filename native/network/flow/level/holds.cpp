#include "network/flow/level/holds.hpp"

#include <algorithm>

namespace yantra::inline YANTRA_RUN::flow {

u64 Holds::ticks_alone(RouteId route, u64 bytes) const {
    const double through_ns = static_cast<double>(bytes) / all_.routes[route].alike_bytes_per_ns;
    return all_.clock.moment(all_.routes.latency_ns(route) + through_ns);
}

void Holds::carry_alone(const Turn::Messages& messages, u64 times, Carried& to) const {
    to.add(messages.route, static_cast<i64>(messages.bytes * times), times);
    const u64 entered = all_.clock.moment(all_.routes.latency_ns(messages.route));
    to.add_busy(messages.route, times * (ticks_alone(messages.route, messages.bytes) - entered));
}

Carried Holds::carried() const {
    Carried found = all_.carried;
    for (const Turn& turn : turns_) {
        for (const Turn::Messages& messages : turn.messages) {
            carry_alone(messages, messages.times * turn.holds, found);
        }
    }
    return found;
}

u32 Holds::learn(std::span<const MessagesInTurn> messages) {
    Turn turn;
    for (const auto& [message, times] : messages) {
        const RouteId route = route_of(message);
        turn.messages.push_back({route, message.bytes, times});
        for (LinkId link : all_.routes.links(route)) {
            if (std::find(turn.links.begin(), turn.links.end(), link) == turn.links.end()) {
                turn.links.push_back(link);
            }
        }
    }
    turns_.push_back(std::move(turn));
    return static_cast<u32>(turns_.size() - 1);
}

bool Holds::hold(u32 learnt, u64 ticks, u32 name) {
    Turn& turn = turns_[learnt];
    const u64 now = all_.clock.now();
    for (LinkId link : turn.links) {
        if (under_way_over_[link] > 0 || held_[link].until > now) {
            return false;
        }
    }
    for (LinkId link : turn.links) {
        held_[link] = {now + ticks, name};
    }
    ++turn.holds;
    return true;
}

void Holds::meet_holders(RouteId route) {
    const u64 now = all_.clock.now();
    for (std::size_t at = 0; at < all_.routes.links(route).size(); ++at) {
        const LinkId link = all_.routes.links(route)[at];   // they may move
        if (held_[link].until > now) {
            holder_->meets(held_[link].name);
            ensure(held_[link].until <= now, "a holder that does not give up its links");
        }
    }
}

void Holds::give_up(u32 learnt, std::span<const u64> through) {
    Turn& turn = turns_[learnt];
    for (LinkId link : turn.links) {
        held_[link].until = all_.clock.now();
    }
    --turn.holds;
    for (std::size_t i = 0; i < turn.messages.size(); ++i) {
        carry_alone(turn.messages[i], through[i], all_.carried);
    }
}

void Holds::carry_on(const Message& message, Notice arrived, i64 since) {
    const u64 now = all_.clock.now();
    Part part;
    part.transit = all_.transits.take();
    all_.transits[part.transit].parts_left = 1;
    all_.transits[part.transit].arrived = arrived;
    ++all_.under_way;
    part.from = all_.ways->place(message.src);
    part.to = all_.ways->place(message.dst);
    part.route = all_.routes.between(part.from, part.to, 0);
    part.bytes = message.bytes;
    part.order = message.order;
    part.enters_ns = all_.clock.ns_of(now - static_cast<u64>(since)) + all_.routes.latency_ns(part.route);
    const Route route = all_.routes[part.route];
    const u64 enters = all_.clock.moment(part.enters_ns);
    part.entered = enters;
    const PartId number = flows_.add(part);
    if (enters > now) {
        all_.clock.schedule(enters, Kind::enters, number.index());
        return;
    }
    if (enters == now || message.bytes == 0 || route.of_class == none) {
        flows_.comes(number);
        return;
    }
    all_.settle_later();
    if (all_.sending.follows(part)) {
        lines_.has_its_own(number);
    }
    flows_.end(part.enters_ns);
    const double start_ns = std::max(part.enters_ns, all_.sharing.now_ns());
    const double through = (start_ns - part.enters_ns) * route.alike_bytes_per_ns;
    const double left = std::max(static_cast<double>(message.bytes) - through, least_bytes);
    flows_.holds_links(number, all_.sharing.start(route.of_class, left, start_ns));
    all_.carried.was_alone_since(part.route, enters);
}

}  // namespace yantra::inline YANTRA_RUN::flow
