// Rows: overlapping slices of a track go to the first free row.
//
// First-fit by time needs only as many rows as slices overlap; two heaps make it O(n log n).
// Source: interval partitioning (Kleinberg and Tardos, Algorithm Design, section 4.1).
#pragma once

#include <span>

#include "base/types.hpp"
#include "base/vector.hpp"

namespace yantra {

struct Rows {
    Vector<u64> order;      // slices by track, start, end and place; then
    Vector<u64> row;        // by slice: 0 for the first row of its track
};

// A slice may start when another of its row ends.
Rows rows_of(std::span<const u64> track, std::span<const u64> start, std::span<const u64> end);

}  // namespace yantra
