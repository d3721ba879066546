// BlockTable: a dimension's block as tables of links and next hops.
//
// Routes are by position and destination. Devices 0..ranks-1 are a group's ranks, the others its
// switches. Trade-off: devices x ranks entries, where blocks that `Grid` knows by name cost none.
#pragma once

#include "base/types.hpp"
#include "base/vector.hpp"

namespace yantra {

class BlockTable {
public:
    // next_link[device * ranks + to] is the link from a device towards rank `to`, or none if no
    // route passes. Every rank must reach every other.
    BlockTable(u32 ranks, u32 devices, Vector<u32> from, Vector<u32> to,
               Vector<u32> next_link);

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
    Vector<u32> from_;
    Vector<u32> to_;
    Vector<u32> next_link_;
    Vector<u32> hops_;
};

}  // namespace yantra
