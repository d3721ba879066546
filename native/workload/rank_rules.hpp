// Rank rules: what a template's names mean for each rank, as sums over its coordinates on a grid.
// Trade-off: a division per axis.
#pragma once

#include <vector>

#include "base/types.hpp"

namespace yantra {

class AxisSum {
public:
    // (rank - first rank) / stride % size.
    struct Axis {
        u32 stride = 1;
        u32 size = 1;
        u32 factor = 0;            // added once per coordinate, where there are no values
        std::vector<u32> values;   // by coordinate
    };

    // Else a value of `none` means no number.
    AxisSum(u32 first_rank, u32 base, bool relative, std::vector<Axis> axes);

    // Modulo 2^32.
    u32 of(u32 rank) const {
        const u32 offset = rank - first_rank_;
        u32 sum = relative_ ? base_ + rank : base_;
        for (const Axis& axis : axes_) {
            const u32 at = (axis.stride == 1 ? offset : offset / axis.stride) % axis.size;
            const u32 value = axis.values.empty() ? axis.factor * at : axis.values[at];
            if (value == none && !relative_) {
                return none;
            }
            sum += value;
        }
        return sum;
    }

private:
    u32 first_rank_;
    u32 base_;
    bool relative_;
    std::vector<Axis> axes_;
};

// Place 0 of the communicators, all ranks, has no rule.
struct RankRules {
    std::vector<AxisSum> communicators;
    std::vector<AxisSum> peers;
};

struct RankTables {
    std::vector<u32> communicators;
    std::vector<u32> peers;
};

RankTables tables_of(const RankRules& rules, u32 rank);

}  // namespace yantra
