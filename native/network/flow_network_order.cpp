// Messages between two places, one after the other: what one connection does. Those of one collective do so, or all.
//
// Where messages of one pair share links instead, a rank that is late sends all it has to pass on at once, each
// message at a part of the rate, and the ranks behind it wait for all of them. So a ring that is late once would
// stay late by many times that. In order, the first of them arrives as early as it would alone.
// Chunks that are under way together would take each step at once and wait for its latency at once; in order, one
// sends while the other waits.
#include <algorithm>
#include <utility>

#include "base/ensure.hpp"
#include "base/hash.hpp"
#include "network/flow_network.hpp"

namespace yantra {

// The parts of one number go in one line, where a message is cut for its ways.
u64 FlowNetwork::line_of(const Part& part) const {
    const u64 pair = mix(u64{part.from} << 32U | part.to, part.packet);
    return (options_.in_order ? pair : mix(pair, part.order >> 32U)) >> 1U;   // which is no number that cannot be a key
}

// Whether a part has to wait for others; else it has the line for itself until it arrives.
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

// One that has been under way alone, and is from now on one of many.
void FlowNetwork::has_its_line(u32 number) {
    const u64 key = line_of(parts_[number]);
    ensure(lines_.find(key) == nullptr, "a message that was alone, behind another");
    lines_.add(key, {parts_[number].entered, parts_[number].order});
    parts_[number].is_in_line = true;
}

// A part is through: the next one begins where it ended.
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
