// Links of the flow network that fail, return or slow down.
//
// A chain of events, which rests while no message is under way and no other event is pending, so
// that changes after the run cost nothing; a later message catches up.
#include <algorithm>
#include <cmath>

#include "base/vector.hpp"
#include "network/flow_network.hpp"

namespace yantra {

// And those missed while resting.
void FlowNetwork::change_links() {
    end(now_ns());
    u64 known_at = 0;
    for (; next_change_ < changes_.size() && changes_[next_change_].tick <= queue_.now(); ++next_change_) {
        const LinkChange& change = changes_[next_change_];
        if (std::isfinite(ways_->bytes_per_ns(change.link))) {
            sharing_.set_capacity(change.link, change.bytes_per_ns, std::max(now_ns(), sharing_.now_ns()));
        }
        const bool is_down = change.bytes_per_ns == 0.0;
        if (is_down_[change.link] != is_down) {
            is_down_[change.link] = is_down;
            known_at = change.tick + reroute_delay_;
        }
    }
    if (known_at > 0 && ways_->has_fabric()) {
        queue_.schedule(std::max(known_at, queue_.now()), {Owner::network, reroutes}, 0);
    }
    for (u32 part = 0; part < parts_made_; ++part) {
        watch(part);
    }
    settle_later();
    is_resting_ = under_way_ == 0 && queue_.empty();
    if (!is_resting_ && next_change_ < changes_.size()) {
        queue_.schedule(changes_[next_change_].tick, {Owner::network, changes}, 0);
    }
}

void FlowNetwork::catch_up() {
    change_links();
    is_resting_ = false;
}

bool FlowNetwork::crosses(u32 route, const std::vector<bool>& some) const {
    const std::span<const u32> links = known_ways_.links(route);
    return !some.empty() && std::any_of(links.begin(), links.end(), [&some](u32 link) { return some[link]; });
}

void FlowNetwork::watch(u32 number) {
    Part& part = parts_[number];
    const bool waits = part.flow != none && crosses(part.route, is_down_);
    if (waits == (part.waits_since != never)) {
        return;
    }
    if (!waits) {
        disturbance_.waited_ticks += is_background(transits_[part.transit]) ? 0 : queue_.now() - part.waits_since;
        part.waits_since = never;
        return;
    }
    part.waits_since = queue_.now();
    Transit& transit = transits_[part.transit];
    disturbance_.waited += transit.has_waited || is_background(transit) ? 0 : 1;
    transit.has_waited = true;
}

void FlowNetwork::reroute() {
    is_avoided_ = is_down_;
    ways_->avoid(is_avoided_);
    route_of_pair_.clear();
    for (u32 number = 0; number < parts_made_; ++number) {
        if (parts_[number].flow != none && is_cut(parts_[number].route)) {
            take_another_way(number);
            settle_later();
        }
    }
}

// Keeps the bytes left; stays if all ways are cut.
void FlowNetwork::take_another_way(u32 number) {
    const u32 route = route_of(parts_[number].from, parts_[number].to, parts_[number].packet);
    Part& part = parts_[number];
    if (is_cut(route) || routes_[route].of_class == none) {
        return;
    }
    u64 left = part.bytes;
    if (part.flow != none) {
        const double now = std::max(now_ns(), sharing_.now_ns());
        const double bytes = sharing_.stop(part.flow, now);
        left = std::min(static_cast<u64>(std::llround(bytes)), part.bytes);
        note_carried(number, part.bytes - left, queue_.now());
        busy(part.route, -1, queue_.now());
        busy(route, 1, queue_.now());
        part.flow = sharing_.start(routes_[route].of_class, std::max(bytes, 1e-9), now);
        part_of_.resize(std::max<std::size_t>(part_of_.size(), part.flow + std::size_t{1}), none);
        part_of_[part.flow] = number;
        part.entered = queue_.now();
    }
    carry(part.route, -static_cast<i64>(left), 0, uses_);
    carry(route, static_cast<i64>(left), 1, uses_);
    const bool is_sending = part.is_sending;
    count_sent(part, false);
    part.bytes = left;
    part.route = route;
    count_sent(part, is_sending);
    watch(number);
    Transit& transit = transits_[part.transit];
    disturbance_.rerouted += transit.was_rerouted || is_background(transit) ? 0 : 1;
    transit.was_rerouted = true;
}

}  // namespace yantra
