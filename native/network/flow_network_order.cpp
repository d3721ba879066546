// Messages between two places one by one, as on one connection: those of each collective, or all.
//
// If they shared links, a late rank would send its backlog at once, each message at a fraction of
// the rate, with successors waiting for all: a ring late once would stay late by a multiple. Also,
// parallel chunks would wait out each latency together; in order, one sends while another waits.
#include <algorithm>
#include <utility>

#include "base/ensure.hpp"
#include "base/hash.hpp"
#include "network/flow_network.hpp"

namespace yantra {

// Parts of one number share a line.
u64 FlowNetwork::line_of(const Part& part) const {
    const u64 pair = mix(u64{part.from} << 32U | part.to, part.packet);
    return (options_.in_order ? pair : mix(pair, part.order >> 32U)) >> 1U;   // which avoids the reserved key
}

// If not, the part has the line until it arrives.
bool FlowNetwork::waits_in_line(u32 number) {
    Part& part = parts_[number];
    if (part.bytes == 0 || is_background(transits_[part.transit])) {
        return false;
    }
    Line* const line = lines_.find(line_of(part));
    if (line == nullptr) {
        lines_.add(line_of(part), {queue_.now(), part.order});
        part.is_in_line = true;
        return false;
    }
    if (line->came == queue_.now() && part.order < line->order) {
        ways_->came_at_once(part.from, part.to);
    }
    line->came = queue_.now();
    line->order = part.order;
    u32& place = line->first == none ? line->first : parts_[line->last].behind;
    place = line->last = number;
    return true;
}

void FlowNetwork::has_its_line(u32 number) {
    const u64 key = line_of(parts_[number]);
    ensure(lines_.find(key) == nullptr, "a message that was alone, behind another");
    lines_.add(key, {parts_[number].entered, parts_[number].order});
    parts_[number].is_in_line = true;
}

void FlowNetwork::next_in_line(u32 number) {
    parts_[number].is_in_line = false;
    const u64 key = line_of(parts_[number]);
    Line& line = *lines_.find(key);
    const u32 next = line.first;
    if (next == none) {
        lines_.erase(key);
        return;
    }
    Part& part = parts_[next];
    line.first = std::exchange(part.behind, none);
    part.is_in_line = true;
    part.enters_ns = std::max(now_ns() - 0.5 / ticks_per_ns_, sharing_.now_ns());
    Transit& transit = transits_[part.transit];
    if (!transit.departed.kind.is_none() && !std::exchange(transit.is_asking, true)) {
        const double through_ns = static_cast<double>(part.bytes) / routes_[part.route].bytes_per_ns;
        queue_.schedule(queue_.now() + scale_.ticks(through_ns), {Owner::network, leaves}, part.transit);
    }
    entering_.push_back(next);
    settle_later();
}

}  // namespace yantra
