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
    transits_[number] = {};
    transits_[number].parts_left = parts_of(flow.bytes);
    probe_.sent_by_nobody(number);
    ++under_way_;
    send_parts(number, flow.from, flow.to, flow.bytes);
}

}  // namespace yantra
