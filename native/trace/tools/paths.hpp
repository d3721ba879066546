// Orders and the longest chain of a graph, without nodes in or behind a cycle. Dynamic programming over
// Kahn's order.
#pragma once

#include <cstdint>
#include <vector>

#include "trace/graph.hpp"

namespace yantra {

// Two halves, as durations of broken traces have any value.
struct LongSum {
    std::uint64_t high = 0;
    std::uint64_t low = 0;
};

struct LongestPath {
    std::vector<std::uint32_t> nodes;   // first to last; of equally long ones through the lowest
    LongSum micros;
    std::uint32_t depth = 0;    // nodes of the longest chain
    std::uint32_t width = 0;    // most nodes of one depth
    std::uint32_t left_out = 0;
};

LongestPath longest_path(const Graph& graph);

// What is ready begins by the lowest id.
std::vector<std::uint32_t> issue_order(const Graph& graph);

}  // namespace yantra
