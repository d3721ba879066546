// Traffic of nobody's job in the flow network: it shares links with messages, and nobody waits for it.
//
// Flows are one chain of events, each of which schedules the next. Once all work is done no more begin; those that
// have begun are carried to their end, so that bytes add up.
#include <algorithm>
#include <utility>

#include "network/flow_network.hpp"

namespace yantra {

void FlowNetwork::schedule_background() {
    if (std::exchange(background_rests_, false)) {
        while (next_background_ < background_.size() && background_[next_background_].tick < queue_.now()) {
            ++next_background_;   // what would have begun while there was no work
        }
    }
    if (next_background_ < background_.size()) {
        queue_.schedule(background_[next_background_].tick, {Owner::network, background}, 0);
    }
}

// All flows of this time.
void FlowNetwork::start_background() {
    if (engine_.is_done && engine_.is_done()) {
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
    const u64 most = std::max<u64>(flow.bytes, 1);
    const u32 parts = is_parted_ ? static_cast<u32>(std::min<u64>(options_.parts, most)) : 1;
    transits_[number] = {};
    transits_[number].parts_left = parts;
    probe_.sent_by_nobody(number);
    ++under_way_;
    for (u32 packet = 0; packet < parts; ++packet) {
        Part part;
        part.transit = number;
        part.from = flow.from;
        part.to = flow.to;
        part.packet = packet;
        part.route = route_of(flow.from, flow.to, packet);
        part.bytes = flow.bytes / parts + (packet < flow.bytes % parts ? 1 : 0);
        send_part(part);
    }
}

}  // namespace yantra
