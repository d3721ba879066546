// Rows: overlapping slices of a track go to the first free row, in O(n log n) (interval
// partitioning: Kleinberg and Tardos, Algorithm Design, section 4.1).
#pragma once

#include <span>
#include <vector>

#include "base/types.hpp"

namespace yantra {

struct Rows {
    std::vector<u64> order;      // slices by track, start, end and place; then
    std::vector<u64> row;        // by slice: 0 for the first row of its track
};

Rows rows_of(std::span<const u64> track, std::span<const u64> start, std::span<const u64> end);

}  // namespace yantra
