// Finds nodes that can never run, and names one cycle (A. B. Kahn, "Topological sorting of large
// networks", CACM 5(11), 1962).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "trace/graph.hpp"

namespace yantra {

struct CycleReport {
    std::vector<std::uint32_t> cycle;  // each node is a parent of the next, the last of the first
    std::uint32_t stuck = 0;           // nodes on or behind cycles
};

// Empty if the graph is acyclic.
CycleReport find_cycle(const Graph& graph);

// "nodes 3 -> 5 -> 3 wait for each other; 4 nodes can never run".
std::string describe(const CycleReport& report, const Graph& graph);

}  // namespace yantra
