// Which events of one tick go first.
//
// The wheel keeps the order of scheduling, which follows the numbers of ranks. Where two packets come to a switch in one
// tick, or two flows begin, that would decide who waits. So they go in the order that their messages were given
// (`FlowSpec::order`); all others keep their places. Trade-off: ticks with several events are copied and looked through
// first; where they are in order already, as they mostly are, nothing is sorted.
#include <algorithm>

#include "network/packet/simulator.hpp"

namespace yantra::packet {

u32 Simulator::first_of_tick(u32 what) {
    at_once_.clear();
    at_once_.push_back(what);
    while (senders_.wheel.has_more_now()) {
        at_once_.push_back(senders_.wheel.next());
    }
    put_in_order(EventKind::arrived);
    put_in_order(EventKind::begins);
    at_once_done_ = 1;
    return at_once_[0];
}

// Those of a kind, in the places that they have among the others.
void Simulator::put_in_order(EventKind kind) {
    in_order_.clear();
    bool is_sorted = true;
    for (std::size_t at = 0; at < at_once_.size(); ++at) {
        const u32 what = at_once_[at];
        if (what >> event_index_bits == static_cast<u32>(kind)) {
            const u64 key = u64{order_of(kind, what & event_index)} << 32U | at;
            is_sorted = is_sorted && (in_order_.empty() || in_order_.back() < key);
            in_order_.push_back(key);
        }
    }
    if (is_sorted) {
        return;
    }
    std::sort(in_order_.begin(), in_order_.end());
    const Vector<u32> before = at_once_;
    const u64* next = in_order_.begin();
    for (u32& what : at_once_) {
        if (what >> event_index_bits == static_cast<u32>(kind)) {
            what = before[static_cast<u32>(*next++)];
        }
    }
}

u16 Simulator::order_of(EventKind kind, u32 index) const {
    return kind == EventKind::arrived ? packets_[index].order : waiting_[index].order;
}

}  // namespace yantra::packet
