#include "fabric/grid.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include "base/ensure.hpp"

namespace yantra {

Grid::Grid(std::vector<Dimension> dimensions, std::vector<std::shared_ptr<const BlockTable>> tables)
    : dimensions_(std::move(dimensions)), tables_(std::move(tables)), count_(dimensions_.size()) {
    ensure(!dimensions_.empty(), "a grid needs a dimension");
    tables_.resize(count_);
    for (u32 d = 0; d < this->dimensions(); ++d) {
        ensure(dimensions_[d].block == Block::table
                   ? tables_[d] && tables_[d]->ranks() == dimensions_[d].size
                   : !tables_[d],
               "a table for each block of the open kind, of its size");
    }
    u64 ranks = 1;
    for (const Dimension& dimension : dimensions_) {
        ensure(dimension.size >= 1, "a dimension needs a rank");
        strides_.push_back(static_cast<u32>(ranks));
        ranks *= dimension.size;
        ensure(ranks < none, "more ranks than a 32-bit index holds");
    }
    ranks_ = static_cast<u32>(ranks);
    coordinates_.resize(ranks * count_);
    for (u32 rank = 0; rank < ranks_; ++rank) {
        for (u32 d = 0; d < this->dimensions(); ++d) {
            coordinates_[rank * count_ + d] = rank / strides_[d] % dimensions_[d].size;
        }
    }
}

u32 Grid::hops_in_table(u32 d, u32 from, u32 to) const { return tables_[d]->hops(from, to); }

}  // namespace yantra
