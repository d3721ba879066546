// Background traffic in the flow network: it shares links, and nobody waits for it.
//
// A chain of events. After all work it begins nothing, and flows under way end with the bytes
// carried, so that no link is used after the run.
#include <algorithm>
#include <cmath>
#include <utility>

#include "network/flow_network.hpp"

namespace yantra {

void FlowNetwork::schedule_background() {
    if (std::exchange(background_rests_, false)) {
        background_is_over_ = false;
        while (next_background_ < background_.size() && background_[next_background_].tick < queue_.now()) {
            ++next_background_;   // would have begun while there was no work
        }
    }
    if (next_background_ < background_.size()) {
        queue_.schedule(background_[next_background_].tick, {Owner::network, background}, 0);
    }
}

void FlowNetwork::start_background() {
    if (background_is_over_) {
        background_rests_ = true;
        return;
    }
    while (next_background_ < background_.size() && background_[next_background_].tick <= queue_.now()) {
        send_in_background(background_[next_background_]);
        ++next_background_;
    }
    schedule_background();
}

void FlowNetwork::send_in_background(const BackgroundFlow& flow) {
    const u32 number = transits_.take();
    transits_[number] = {};
    transits_[number].parts_left = parts_of(flow.bytes);
    probe_.sent_by_nobody(number);
    ++under_way_;
    send_parts(number, flow.from, flow.to, flow.bytes, 0);
}

// Work ended at this tick, since which no network event came.
void FlowNetwork::stop_background(u64 tick) {
    background_is_over_ = true;
    const double done_ns = std::max(static_cast<double>(tick) / ticks_per_ns_, sharing_.now_ns());
    for (u32 number = 0; number < parts_made_; ++number) {
        const Part& part = parts_[number];
        if (part.route != none && !part.is_over && is_background(transits_[part.transit])) {
            stop_part(number, done_ns, tick);
        }
    }
    settle_later();
}

// Pending events may name the part and its message, so both keep their numbers.
void FlowNetwork::stop_part(u32 number, double now_ns, u64 tick) {
    Part& part = parts_[number];
    const Route& route = routes_[part.route];
    double carried = 0.0;
    if (part.flow != none) {
        carried = static_cast<double>(part.bytes) - sharing_.stop(part.flow, now_ns);
    } else if (route.of_class == none) {
        carried = (now_ns - part.enters_ns) * route.bytes_per_ns;
    }
    const bool has_entered = part.flow != none || part.by_formula;
    const u64 bytes = has_entered ? std::min(static_cast<u64>(std::llround(std::max(carried, 0.0))), part.bytes) : 0;
    carry(part.route, static_cast<i64>(bytes) - static_cast<i64>(part.bytes), has_entered ? 0 : ~u64{0}, uses_);
    if (has_entered) {
        busy(part.route, -1, tick);
        note_carried(number, bytes, tick);
    }
    count_sent(part, false);
    part.is_over = true;
    part.flow = none;
    under_way_ -= --transits_[part.transit].parts_left == 0 ? 1 : 0;
}

}  // namespace yantra
