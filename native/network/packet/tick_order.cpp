#include "network/packet/tick_order.hpp"

#include <algorithm>

namespace yantra::packet {

// Sorts the events of a kind within the places that they have among the others.
void TickOrder::put_in_order(EventKind kind) {
    std::sort(keys_.begin(), keys_.end());
    const Vector<u32> before = events_;
    const u64* next = keys_.begin();
    for (u32& what : events_) {
        if (kind_of(what) == kind) {
            what = before[static_cast<u32>(*next++)];
        }
    }
}

}  // namespace yantra::packet
