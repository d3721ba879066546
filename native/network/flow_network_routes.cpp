// The routes of the flow network: each way once, the class of flows over its links, and what links carried.
#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "base/hash.hpp"
#include "base/vector.hpp"
#include "network/flow_network.hpp"
#include "network/formula_tiers.hpp"

namespace yantra {

namespace {

constexpr double nudge_bytes = 1.0 / 1024.0;   // so that a rounding error does not take a byte

}  // namespace

// Flows over a link for each byte per ns: what an adaptive routing looks at.
double FlowNetwork::load(u32 link) const { return flows_over_[link] / ways_->bytes_per_ns(link); }

u32 FlowNetwork::route_of(u32 from, u32 to, u32 packet) {
    if (is_parted_ || ways_->by_load()) {
        ways_->find(from, to, packet, this, way_);
        return known_route(way_);
    }
    const u64 pair = u64{from} << 32U | to;
    const auto found = route_of_pair_.find(pair);
    if (found != route_of_pair_.end()) {
        return found->second;
    }
    ways_->find(from, to, 0, this, way_);
    return route_of_pair_[pair] = known_route(way_);
}

u32 FlowNetwork::known_route(const Way& way) {
    u64 hash = way.links.size();
    for (u32 link : way.links) {
        hash = mix(hash, link);
    }
    const auto [first, last] = route_of_hash_.equal_range(hash);
    for (auto at = first; at != last; ++at) {
        if (routes_[at->second].way == way) {
            return at->second;
        }
    }
    return route_of_hash_.emplace(hash, add_route(way))->second;
}

u32 FlowNetwork::add_route(const Way& way) {
    Route route;
    route.way = way;
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
    routes_.push_back(std::move(route));
    return static_cast<u32>(routes_.size() - 1);
}

// Counts bytes of a flow, and of those alike, on all links of a way.
void FlowNetwork::carry(u32 number, i64 bytes, u64 messages, Uses& uses) const {
    const Way& way = routes_[number].way;
    for (std::size_t at = 0; at < way.links.size(); ++at) {
        const Way::Part part = way.part(at);
        LinkUse& use = uses.whole[way.links[at]];
        use.messages += messages * part.flows;
        if (part.shared == static_cast<double>(part.flows)) {
            use.bytes += static_cast<u64>(bytes * i64{part.flows});
        } else {
            uses.divided_bytes[way.links[at]] += static_cast<double>(bytes) * part.shared;
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
    const Way& way = routes_[part.route].way;
    for (std::size_t at = 0; at < way.links.size(); ++at) {
        sent_over_[way.links[at]] += is_sending ? way.part(at).shared : -way.part(at).shared;
    }
}

void FlowNetwork::busy(u32 route, i32 change, u64 tick) {
    for (u32 link : routes_[route].way.links) {
        if (flows_over_[link] == 0) {
            busy_since_[link] = tick;
        }
        flows_over_[link] = static_cast<u32>(static_cast<i32>(flows_over_[link]) + change);
        if (flows_over_[link] == 0) {
            uses_.whole[link].busy_ticks += tick - busy_since_[link];
        }
    }
}

// So many bytes of a part, over its way since it entered.
void FlowNetwork::note_carried(u32 number, u64 bytes, u64 until) {
    const Part& part = parts_[number];
    const Way& way = routes_[part.route].way;
    for (std::size_t at = 0; at < way.links.size(); ++at) {
        const u32 link = way.links[at];
        const double share = way.part(at).shared;
        const u64 here = share == 1.0 ? bytes : static_cast<u64>(std::llround(static_cast<double>(bytes) * share));
        probe_.carried(part.transit, link, part.entered, until, here);
    }
}

}  // namespace yantra
