// The routes of the flow network: each way once, its flow class, and what links carried.
#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "base/vector.hpp"
#include "network/flow_network.hpp"
#include "network/formula_tiers.hpp"

namespace yantra {

namespace {

constexpr double nudge_bytes = 1.0 / 1024.0;   // so that rounding does not take a byte

}  // namespace

// Flows sent and not departed, for each byte per ns. Including their latency, so that simultaneous
// flows see each other.
double FlowNetwork::load(u32 link) const { return sent_over_[link] / ways_->bytes_per_ns(link); }

u32 FlowNetwork::route_of(u32 from, u32 to, u32 packet) {
    if (is_parted_ || ways_->by_load()) {
        ways_->find(from, to, packet, this, way_);
        return known_route(way_);
    }
    const u64 pair = u64{from} << 32U | to;
    if (const u32* const found = route_of_pair_.find(pair)) {
        return *found;
    }
    ways_->find(from, to, 0, this, way_);
    const u32 route = known_route(way_);
    route_of_pair_.add(pair, route);
    return route;
}

u32 FlowNetwork::known_route(const Way& way) {
    const u32 number = known_ways_.number(way);
    if (number == routes_.size()) {
        add_route(way);
    }
    return number;
}

void FlowNetwork::add_route(const Way& way) {
    Route route;
    route.bytes_per_ns = route.alike_bytes_per_ns = std::numeric_limits<double>::infinity();
    Vector<u32> links;
    Vector<double> shares;
    double shared_bytes_per_ns = no_end_ns;
    for (std::size_t at = 0; at < way.links.size(); ++at) {
        const u32 link = way.links[at];
        const double rate = ways_->bytes_per_ns(link) / way.part(at).carried;
        const double alike_rate = ways_->bytes_per_ns(link) / way.part(at).shared;
        route.bytes_per_ns = std::min(route.bytes_per_ns, rate);
        route.alike_bytes_per_ns = std::min(route.alike_bytes_per_ns, alike_rate);
        if (std::isfinite(rate) && !goes_by_formula(link)) {
            links.push_back(link);
            shares.push_back(way.part(at).shared);
            shared_bytes_per_ns = std::min(shared_bytes_per_ns, rate);
        }
    }
    if (!links.empty()) {
        if (route.bytes_per_ns < shared_bytes_per_ns) {
            FormulaTiers::refuse();
        }
        const bool weighs = options_.rtt_fairness && way.latency_ns > 0.0;
        route.of_class = sharing_.add_class(links, weighs ? 0.5 / way.latency_ns : 1.0, shares);
    }
    routes_.push_back(route);
}

void FlowNetwork::carry(u32 number, i64 bytes, u64 messages, Uses& uses) const {
    const std::span<const u32> links = known_ways_.links(number);
    for (std::size_t at = 0; at < links.size(); ++at) {
        const Way::Part part = known_ways_.part(number, at);
        LinkUse& use = uses.whole[links[at]];
        use.messages += messages * part.flows;
        if (part.shared == static_cast<double>(part.flows)) {
            use.bytes += static_cast<u64>(bytes * i64{part.flows});
        } else {
            uses.divided_bytes[links[at]] += static_cast<double>(bytes) * part.shared;
        }
    }
}

Vector<LinkUse> FlowNetwork::rounded_use() const {
    Uses uses = uses_;
    for (const Turn& turn : turns_) {
        for (const Turn::Messages& messages : turn.messages) {
            carry_alone(messages.route, messages.bytes, messages.times * turn.holds, uses);
        }
    }
    for (std::size_t link = 0; link < uses.whole.size(); ++link) {
        uses.whole[link].bytes += static_cast<u64>(std::llround(uses.divided_bytes[link] + nudge_bytes));
    }
    return std::move(uses.whole);
}

void FlowNetwork::count_sent(Part& part, bool is_sending) {
    if (std::exchange(part.is_sending, is_sending) == is_sending) {
        return;
    }
    const u32 route = follows(part) ? changes_line(part, is_sending) : part.route;
    if (route == none) {
        return;
    }
    const std::span<const u32> links = known_ways_.links(route);
    for (std::size_t at = 0; at < links.size(); ++at) {
        const double share = known_ways_.part(route, at).shared;
        sent_over_[links[at]] += is_sending ? share : -share;
    }
}

// The route where a line starts or stops sending, or none: consecutive messages load a link as one.
// It stops where it started, even after reroutes.
u32 FlowNetwork::changes_line(const Part& part, bool is_sending) {
    const u64 key = line_of(part);
    Sent* const sent = sent_in_line_.find(key);
    if (is_sending && sent == nullptr) {
        sent_in_line_.add(key, {1, part.route});
        return part.route;
    }
    sent->count += is_sending ? 1 : -1;
    if (sent->count > 0) {
        return none;
    }
    const u32 route = sent->route;
    sent_in_line_.erase(key);
    return route;
}

void FlowNetwork::busy(u32 route, i32 change, u64 tick) {
    for (u32 link : known_ways_.links(route)) {
        if (flows_over_[link] == 0) {
            busy_since_[link] = tick;
        }
        flows_over_[link] = static_cast<u32>(static_cast<i32>(flows_over_[link]) + change);
        if (flows_over_[link] == 0) {
            uses_.whole[link].busy_ticks += tick - busy_since_[link];
        }
    }
}

void FlowNetwork::note_carried(u32 number, u64 bytes, u64 until) {
    const Part& part = parts_[number];
    const std::span<const u32> links = known_ways_.links(part.route);
    for (std::size_t at = 0; at < links.size(); ++at) {
        const u32 link = links[at];
        const double share = known_ways_.part(part.route, at).shared;
        const u64 here = share == 1.0 ? bytes : static_cast<u64>(std::llround(static_cast<double>(bytes) * share));
        probe_.carried(part.transit, link, part.entered, until, here);
    }
}

}  // namespace yantra
