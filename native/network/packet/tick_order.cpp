#include "network/packet/tick_order.hpp"

#include <algorithm>

namespace yantra::packet {

void TickOrder::put_in_order(EventKind kind) {
    std::sort(places_.begin(), places_.end(), [](const Place& one, const Place& other) {
        return one.place != other.place ? one.place < other.place : one.at < other.at;
    });
    const std::vector<u32> before = events_;
    auto next = places_.cbegin();
    for (u32& what : events_) {
        if (kind_of(what) == kind) {
            what = before[(next++)->at];
        }
    }
}

}  // namespace yantra::packet
