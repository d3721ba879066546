#include "fabric/table.hpp"

#include <algorithm>
#include <utility>
#include <vector>

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
    hops_.resize(static_cast<std::size_t>(ranks) * ranks);
    for (u32 rank = 0; rank < ranks; ++rank) {
        count_hops(rank);
    }
}

void BlockTable::count_hops(u32 to) {
    std::vector<u32> hops(devices_, none);
    std::vector<u32> passed;
    hops[to] = 0;
    for (u32 from = 0; from < ranks_; ++from) {
        u32 at = from;
        for (; hops[at] == none; at = to_[next_link(at, to)]) {
            ensure(next_link(at, to) != none && passed.size() < devices_, "a route arrives");
            passed.push_back(at);
        }
        for (u32 left = hops[at]; !passed.empty(); passed.pop_back()) {
            hops[passed.back()] = ++left;
        }
        hops_[static_cast<std::size_t>(from) * ranks_ + to] = hops[from];
    }
}

}  // namespace yantra
