#include "network/outside.hpp"

#include <algorithm>

#include "base/unsupported.hpp"
#include "network/crossed.hpp"

namespace yantra {

void OutsideNetwork::send(const Message& message, Notice arrived, Notice departed) {
    for_each_crossed(grid_, message, [&](u32 d, u32, u32) { count(use_[d], message.bytes, 1); });
    const u32 number = transits_.take();
    transits_made_ = std::max(transits_made_, number + 1);
    transits_[number] = {arrived, departed, true};
    probe_.sent(number);
    network_->sends(number, message.src.index(), message.dst.index(), message.bytes);
}

void OutsideNetwork::arrives(u32 message, u64 tick, u64 departed) {
    if (message >= transits_made_ || !transits_[message].under_way) {
        throw Unsupported("the network lets a message arrive that is not under way");
    }
    if (departed < now() || tick < departed) {
        throw Unsupported("the network lets a message arrive before it was sent, or leave after it arrived");
    }
    Transit& transit = transits_[message];
    probe_.arrives(message);
    if (!transit.departed.kind.is_none()) {
        queue_.schedule(departed, transit.departed);
    }
    queue_.schedule(tick, transit.arrived);
    probe_.arrival_scheduled();
    transit.under_way = false;
    transits_.give_back(message);
}

void OutsideNetwork::wake(u64 tick, u32 token) {
    if (tick < now()) {
        throw Unsupported("the network asks to be woken in the past");
    }
    queue_.schedule(tick, {Owner::network, 0}, token);
}

}  // namespace yantra
