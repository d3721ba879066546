#include "topology/grid.hpp"

#include <algorithm>
#include <utility>

#include "base/ensure.hpp"

namespace yantra {

Grid::Grid(std::vector<Dimension> dimensions) : dimensions_(std::move(dimensions)) {
    ensure(!dimensions_.empty(), "a grid needs a dimension");
    u64 ranks = 1;
    for (const Dimension& dimension : dimensions_) {
        ensure(dimension.size >= 2, "a dimension needs at least two ranks");
        strides_.push_back(static_cast<u32>(ranks));
        ranks *= dimension.size;
        ensure(ranks < none, "more ranks than a 32-bit index holds");
    }
    ranks_ = static_cast<u32>(ranks);
    coordinates_.resize(ranks * dimensions_.size());
    for (u32 rank = 0; rank < ranks_; ++rank) {
        for (u32 d = 0; d < this->dimensions(); ++d) {
            coordinates_[rank * dimensions_.size() + d] = rank / strides_[d] % dimensions_[d].size;
        }
    }
}

u32 Grid::hops(u32 d, u32 from, u32 to) const {
    const Dimension& dimension = dimensions_[d];
    switch (dimension.block) {
        case Block::fully_connected:
            return 1;
        case Block::switched:
            return 2;
        case Block::ring:
            break;
    }
    const u32 clockwise = to >= from ? to - from : to + dimension.size - from;
    return std::min(clockwise, dimension.size - clockwise);
}

}  // namespace yantra
