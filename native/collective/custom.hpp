// CustomCollective: a collective given as Chakra graphs, one per position in the group.
//
// Sizes stand in the nodes (comm_size), or follow from the size of the collective that runs: a node
// that moves msg_chunk_cnt of the total_chunk_cnt chunks has that share of it, rounded up to whole
// bytes. Upstream refuses the second form. Nodes are sends, receives and timed compute; every ready node starts at once, in the order of
// upstream's hash sets or, without that quirk, in ascending id. (astra-sim-semantics 8, 9.1.)
#pragma once

#include <memory>

#include "base/types.hpp"
#include "base/vector.hpp"
#include "collective/unordered_order.hpp"
#include "trace/graph.hpp"

namespace yantra {

struct CustomPosition {
    std::shared_ptr<const Graph> graph;
    Vector<Vector<u32>> children;   // of each node, in the order in which they are freed
    UnorderedOrder ready;                     // ids free at the start, with the set's bucket state
};

struct CustomCollective {
    Vector<CustomPosition> positions;
    bool over_members = false;                // ranks named in the graphs are positions in the communicator
    bool hash_order = true;
};

// Whether a node says how many of how many chunks it is about.
bool has_chunks(const Graph& graph, u32 node);

// Bytes of a send or receive, or of the data a computation reduces, within a collective of
// `collective_bytes`. The node must have a comm_size or chunks.
u64 custom_bytes(const Graph& graph, u32 node, u64 collective_bytes);

CustomPosition prepare_custom(std::shared_ptr<const Graph> graph);

}  // namespace yantra
