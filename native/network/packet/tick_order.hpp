// TickOrder: which events of one tick go first: in their messages' order (`FlowSpec::order`), as the
// order of scheduling follows rank numbers and, but for `orders_ties`, what was before.
// Trade-off: ticks with several events are copied and checked.
#pragma once

#include <vector>

#include "network/packet/sender.hpp"

namespace yantra::packet {

class TickOrder {
public:
    bool empty() const { return done_ == events_.size(); }
    u32 next() { return events_[done_++]; }
    // `place_of(kind, index)`: the least goes first; of equal ones the one scheduled first.
    template <class PlaceOf>
    u32 take(u32 what, Wheel& wheel, PlaceOf&& place_of) {
        events_.clear();
        events_.push_back(what);
        while (wheel.has_more_now()) {
            events_.push_back(wheel.next());
        }
        for (EventKind kind : {EventKind::arrived, EventKind::begins}) {
            places_.clear();
            bool is_sorted = true;
            for (u32 at = 0; at < events_.size(); ++at) {
                if (kind_of(events_[at]) == kind) {
                    const u64 place = place_of(kind, events_[at] & event_index);
                    is_sorted = is_sorted && (places_.empty() || places_.back().place <= place);
                    places_.push_back({place, at});
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
    struct Place {
        u64 place;
        u32 at;   // in `events_`
    };

    void put_in_order(EventKind kind);

    std::vector<u32> events_;   // of this tick, in their order
    std::size_t done_ = 0;
    std::vector<Place> places_;   // of the events of a kind
};

}  // namespace yantra::packet
