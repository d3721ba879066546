#include "network/packet/tick_order.hpp"

#include <algorithm>

namespace yantra::packet {

void TickOrder::put_in_order(EventKind kind) {
    std::sort(keys_.begin(), keys_.end());
    const std::vector<u32> before = events_;
    auto next = keys_.cbegin();
    for (u32& what : events_) {
        if (kind_of(what) == kind) {
            what = before[static_cast<u32>(*next++)];
        }
    }
}

}  // namespace yantra::packet
