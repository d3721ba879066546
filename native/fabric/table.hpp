// BlockTable: one dimension's block as a table of its links and of where every route goes next.
//
// The open form of a block: any devices, any links, any routes that depend on where a message is
// and where it goes. Devices 0..ranks-1 are the ranks of a group along the dimension, the others its
// switches. Costs devices x ranks entries, where the blocks that `Grid` knows by name cost none.
#pragma once

#include "base/types.hpp"
#include "base/vector.hpp"

namespace yantra {

class BlockTable {
public:
    // next_link[device * ranks + to] is the link that a message to rank `to` takes from a device,
    // none where no route passes. The route from every rank to every other must arrive.
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
