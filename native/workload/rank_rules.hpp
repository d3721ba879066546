// Rank rules: what a template's names mean for each rank, by arithmetic.
//
// Groups and peers follow from a rank's coordinates on a grid: a sum with one term per axis instead
// of a table as long as the job. Trade-off: a division per axis, so a run tabulates the ranks that
// it runs.
#pragma once

#include "base/types.hpp"
#include "base/vector.hpp"

namespace yantra {

class AxisSum {
public:
    // A rank's coordinate on the axis is (rank - first rank) / stride % size.
    struct Axis {
        u32 stride = 1;
        u32 size = 1;
        u32 factor = 0;            // added once per coordinate, where there are no values
        Vector<u32> values;   // by coordinate
    };

    // `relative` adds the rank; else a value of `none` means no number.
    AxisSum(u32 first_rank, u32 base, bool relative, Vector<Axis> axes);

    // Modulo 2^32, so that values may represent negative ones.
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
    Vector<Axis> axes_;
};

// By place of the name in the template; place 0 of the communicators, all ranks, has no rule.
struct RankRules {
    Vector<AxisSum> communicators;
    Vector<AxisSum> peers;
};

struct RankTables {
    Vector<u32> communicators;
    Vector<u32> peers;
};

RankTables tables_of(const RankRules& rules, u32 rank);

}  // namespace yantra
