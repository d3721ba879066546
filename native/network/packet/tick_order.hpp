// TickOrder: which events of one tick go first.
//
// The wheel keeps the order of scheduling, which follows rank numbers. Where two packets come to a
// switch in one tick, or two flows begin, it would decide who waits. So they go in their messages'
// order (`FlowSpec::order`); all others keep their places. Trade-off: ticks with several events are
// copied and checked first; mostly they are in order already.
#pragma once

#include "base/vector.hpp"
#include "network/packet/sender.hpp"

namespace yantra::packet {

class TickOrder {
public:
    bool empty() const { return done_ == events_.size(); }
    u32 next() { return events_[done_++]; }
    // Takes the other events of the tick, and returns the first. `order_of(kind, index)`: their
    // messages' order.
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

    Vector<u32> events_;   // of this tick, in their order
    std::size_t done_ = 0;
    Vector<u64> keys_;     // of the events of a kind: the order and the place
};

}  // namespace yantra::packet
