// BlockTable: a dimension's block as tables of links and next hops, by position and destination.
// Trade-off: devices x ranks entries.
#pragma once

#include <vector>

#include "base/types.hpp"

namespace yantra {

class BlockTable {
public:
    // next_link[device * ranks + to], or none if no route passes. Every rank must reach every
    // other.
    BlockTable(u32 ranks, u32 devices, std::vector<u32> from, std::vector<u32> to,
               std::vector<u32> next_link);

    u32 ranks() const { return ranks_; }
    u32 switches() const { return devices_ - ranks_; }
    u32 links() const { return static_cast<u32>(to_.size()); }
    u32 from(u32 link) const { return from_[link]; }
    u32 to(u32 link) const { return to_[link]; }
    u32 next_link(u32 device, u32 to) const {
        return next_link_[static_cast<std::size_t>(device) * ranks_ + to];
    }
    u32 hops(u32 from, u32 to) const { return hops_[static_cast<std::size_t>(from) * ranks_ + to]; }

private:
    void count_hops(u32 to);

    u32 ranks_;
    u32 devices_;
    std::vector<u32> from_;
    std::vector<u32> to_;
    std::vector<u32> next_link_;
    std::vector<u32> hops_;
};

}  // namespace yantra
