#include "topology/table.hpp"

#include <algorithm>
#include <utility>

#include "base/ensure.hpp"

namespace yantra {

BlockTable::BlockTable(u32 ranks, u32 devices, std::vector<u32> from, std::vector<u32> to,
                       std::vector<u32> next_link)
    : ranks_(ranks),
      devices_(devices),
      from_(std::move(from)),
      to_(std::move(to)),
      next_link_(std::move(next_link)) {
    auto is_device = [devices](u32 device) { return device < devices; };
    ensure(ranks >= 2 && ranks <= devices, "a block has two ranks or more");
    ensure(from_.size() == to_.size() && to_.size() < none, "a link has two ends");
    ensure(std::all_of(from_.begin(), from_.end(), is_device) &&
               std::all_of(to_.begin(), to_.end(), is_device),
           "a link joins devices of its block");
    ensure(next_link_.size() == static_cast<std::size_t>(devices) * ranks, "an entry for every pair");
    for (u32 device = 0; device < devices; ++device) {
        for (u32 rank = 0; rank < ranks; ++rank) {
            const u32 link = this->next_link(device, rank);
            ensure(link == none || (link < links() && from_[link] == device),
                   "a route takes a link of the device it is at");
        }
    }
    hops_.reserve(static_cast<std::size_t>(ranks) * ranks);
    for (u32 a = 0; a < ranks; ++a) {
        for (u32 b = 0; b < ranks; ++b) {
            hops_.push_back(count_hops(a, b));
        }
    }
}

u32 BlockTable::count_hops(u32 from, u32 to) const {
    u32 hops = 0;
    for (u32 at = from; at != to; ++hops) {
        const u32 link = next_link(at, to);
        ensure(link != none && hops < devices_, "a route arrives");
        at = to_[link];
    }
    return hops;
}

}  // namespace yantra
