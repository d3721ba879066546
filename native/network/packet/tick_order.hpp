// TickOrder: which events of one tick go first: in their messages' order (`FlowSpec::order`), as
// the order of scheduling follows rank numbers. Trade-off: ticks with several events are copied and
// checked.
#pragma once

#include <vector>

#include "network/packet/sender.hpp"

namespace yantra::packet {

class TickOrder {
public:
    bool empty() const { return done_ == events_.size(); }
    u32 next() { return events_[done_++]; }
    // `order_of(kind, index)`: their messages' order.
    template <class OrderOf>
    u32 take(u32 what, Wheel& wheel, OrderOf&& order_of) {
        events_.clear();
        events_.push_back(what);
        while (wheel.has_more_now()) {
            events_.push_back(wheel.next());
        }
        for (EventKind kind : {EventKind::arrived, EventKind::begins}) {
            keys_.clear();
            bool is_sorted = true;
            for (std::size_t at = 0; at < events_.size(); ++at) {
                if (kind_of(events_[at]) == kind) {
                    const u64 key = u64{order_of(kind, events_[at] & event_index)} << 32U | at;
                    is_sorted = is_sorted && (keys_.empty() || keys_.back() < key);
                    keys_.push_back(key);
                }
            }
            if (!is_sorted) {
                put_in_order(kind);
            }
        }
        done_ = 1;
        return events_[0];
    }

private:
    void put_in_order(EventKind kind);

    std::vector<u32> events_;   // of this tick, in their order
    std::size_t done_ = 0;
    std::vector<u64> keys_;     // of the events of a kind: the order and the place
};

}  // namespace yantra::packet
