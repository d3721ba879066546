// RouteTable: adds equal routes to a simulator once, by open addressing over its routes: 8 bytes
// each. Trade-off: none is ever removed.
#pragma once

#include <algorithm>
#include <span>
#include <vector>

#include "base/hash.hpp"
#include "base/types.hpp"
#include "network/packet/simulator.hpp"

namespace yantra::packet {

class RouteTable {
public:
    explicit RouteTable(Simulator& simulator) : simulator_(simulator), slots_(64, none) {}

    u32 add(std::span<const u32> links) {
        if (2 * count_ >= slots_.size()) {
            grow();
        }
        u32& slot = slots_[slot_of(links)];
        if (slot == none) {
            slot = simulator_.add_route(links);
            ++count_;
        }
        return slot;
    }

private:
    std::size_t slot_of(std::span<const u32> links) const {
        u64 hash = links.size();
        for (u32 link : links) {
            hash = mix(hash, link);
        }
        const std::size_t mask = slots_.size() - 1;
        std::size_t at = (hash ^ hash >> 32) & mask;
        while (slots_[at] != none && !std::ranges::equal(simulator_.routes().links_of(slots_[at]), links)) {
            at = (at + 1) & mask;
        }
        return at;
    }

    void grow() {
        std::vector<u32> before(2 * slots_.size(), none);
        before.swap(slots_);
        for (u32 route : before) {
            if (route != none) {
                slots_[slot_of(simulator_.routes().links_of(route))] = route;
            }
        }
    }

    Simulator& simulator_;
    std::vector<u32> slots_;   // routes
    std::size_t count_ = 0;
};

}  // namespace yantra::packet
