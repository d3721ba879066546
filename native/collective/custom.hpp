// CustomCollective: a collective given as Chakra graphs, one per position in the group.
//
// Nodes are sends, receives and timed compute; every ready node starts at once, in the order of
// upstream's hash sets or, without that quirk, in ascending id. (astra-sim-semantics 8, 9.1.)
#pragma once

#include <memory>
#include <vector>

#include "base/types.hpp"
#include "collective/unordered_order.hpp"
#include "trace/graph.hpp"

namespace yantra {

struct CustomPosition {
    std::shared_ptr<const Graph> graph;
    std::vector<std::vector<u32>> children;   // of each node, in the order in which they are freed
    UnorderedOrder ready;                     // ids free at the start, with the set's bucket state
};

struct CustomCollective {
    std::vector<CustomPosition> positions;
    std::vector<u32> members;                 // real rank of each rank named in the graphs; empty: itself
    bool hash_order = true;
};

CustomPosition prepare_custom(std::shared_ptr<const Graph> graph);

}  // namespace yantra
