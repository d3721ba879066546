// Grid: ranks as points of a product of one-dimensional blocks, dimension 0 innermost (ASTRA-sim
// 2.0, ISPASS 2023, section IV-B, table I): rank = sum over d of coordinate[d] * product of the
// sizes below d.
#pragma once

#include <algorithm>
#include <cstddef>
#include <memory>
#include <vector>

#include "base/types.hpp"
#include "fabric/table.hpp"

namespace yantra {

enum class Block : u8 { ring, fully_connected, switched, table };

struct Dimension {
    Block block = Block::ring;
    u32 size = 0;
    double bytes_per_ns = 0.0;  // per link and direction
    double latency_ns = 0.0;    // per hop
    double weight = 1.0;        // bandwidth in the unit it was configured in, for ratios
};

class Grid {
public:
    explicit Grid(std::vector<Dimension> dimensions,
                  std::vector<std::shared_ptr<const BlockTable>> tables = {});

    u32 ranks() const { return ranks_; }
    u32 dimensions() const { return static_cast<u32>(count_); }
    const Dimension& dimension(u32 d) const { return dimensions_[d]; }
    const BlockTable* table(u32 d) const { return tables_[d].get(); }
    u32 stride(u32 d) const { return strides_[d]; }
    u32 coordinate(u32 rank, u32 d) const { return coordinates_[rank * count_ + d]; }

    // dimensions() if they are the same rank.
    u32 lowest_difference(u32 a, u32 b) const {
        const u32* pa = &coordinates_[a * count_];
        const u32* pb = &coordinates_[b * count_];
        u32 d = 0;
        while (d < dimensions() && pa[d] == pb[d]) {
            ++d;
        }
        return d;
    }

    // And the coordinates there; 0 for the same rank.
    struct Crossing {
        u32 dimension;
        u32 from;
        u32 to;
    };
    Crossing first_crossing(u32 a, u32 b) const {
        const u32* pa = &coordinates_[a * count_];
        const u32* pb = &coordinates_[b * count_];
        for (u32 d = 0; d < dimensions(); ++d) {
            if (pa[d] != pb[d]) {
                return {d, pa[d], pb[d]};
            }
        }
        return {dimensions(), 0, 0};
    }

    u32 groups(u32 d) const { return ranks_ / dimensions_[d].size; }
    u32 group(u32 rank, u32 d) const {
        return rank / (strides_[d] * dimensions_[d].size) * strides_[d] + rank % strides_[d];
    }
    u32 member(u32 group, u32 coordinate, u32 d) const {
        const u32 first = group / strides_[d] * strides_[d] * dimensions_[d].size;
        return first + group % strides_[d] + coordinate * strides_[d];
    }

    u32 hops(u32 d, u32 from, u32 to) const {
        const Dimension& dimension = dimensions_[d];
        switch (dimension.block) {
            case Block::fully_connected:
                return 1;
            case Block::switched:
                return 2;
            case Block::table:
                return hops_in_table(d, from, to);
            case Block::ring:
                break;
        }
        const u32 clockwise = to >= from ? to - from : to + dimension.size - from;
        return std::min(clockwise, dimension.size - clockwise);
    }

private:
    [[gnu::noinline]] u32 hops_in_table(u32 d, u32 from, u32 to) const;

    std::vector<Dimension> dimensions_;
    std::vector<std::shared_ptr<const BlockTable>> tables_;  // null where the block has none
    std::vector<u32> strides_;
    std::vector<u32> coordinates_;
    u32 ranks_ = 1;
    std::size_t count_ = 0;  // of dimensions: asked for every message
};

}  // namespace yantra
