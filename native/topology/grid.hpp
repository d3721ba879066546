// Grid: ranks as points of a product of one-dimensional blocks, dimension 0 innermost.
//
// rank = sum over d of coordinate[d] * product of the sizes below d. Each block is a ring, a fully
// connected graph or a switch. (ASTRA-sim 2.0, ISPASS 2023, section IV-B, table I.)
#pragma once

#include <vector>

#include "base/types.hpp"

namespace yantra {

enum class Block : u8 { ring, fully_connected, switched };

struct Dimension {
    Block block = Block::ring;
    u32 size = 0;
    double bytes_per_ns = 0.0;  // per link and direction
    double latency_ns = 0.0;    // per hop
    double weight = 1.0;        // bandwidth in the unit it was configured in, for ratios
};

class Grid {
public:
    explicit Grid(std::vector<Dimension> dimensions);

    u32 ranks() const { return ranks_; }
    u32 dimensions() const { return static_cast<u32>(dimensions_.size()); }
    const Dimension& dimension(u32 d) const { return dimensions_[d]; }
    u32 stride(u32 d) const { return strides_[d]; }
    u32 coordinate(u32 rank, u32 d) const { return coordinates_[rank * dimensions_.size() + d]; }

    // The lowest dimension in which the two ranks differ; dimensions() if they are the same rank.
    u32 lowest_difference(u32 a, u32 b) const {
        const u32* pa = &coordinates_[a * dimensions_.size()];
        const u32* pb = &coordinates_[b * dimensions_.size()];
        u32 d = 0;
        while (d < dimensions() && pa[d] == pb[d]) {
            ++d;
        }
        return d;
    }

    // Hops between two coordinates of one dimension; a ring is used in its shorter direction.
    u32 hops(u32 d, u32 from, u32 to) const;

private:
    std::vector<Dimension> dimensions_;
    std::vector<u32> strides_;
    std::vector<u32> coordinates_;
    u32 ranks_ = 1;
};

}  // namespace yantra
