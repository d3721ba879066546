// CustomCollective: a collective given as Chakra graphs, one for each position in the group.
//
// A node has a size (comm_size) or a share of the running collective's: msg_chunk_cnt of
// total_chunk_cnt chunks, rounded up to bytes (refused upstream). Nodes are sends, receives and
// timed compute; all ready ones start at once, in the order of upstream's hash sets or, without
// that quirk, by id (astra-sim-semantics 8, 9.1).
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
    bool over_members = false;                // ranks in the graphs are positions in the communicator
    bool hash_order = true;
};

bool has_chunks(const Graph& graph, u32 node);

// Of a send, receive or reduction, which must have a comm_size or chunks.
u64 custom_bytes(const Graph& graph, u32 node, u64 collective_bytes);

CustomPosition prepare_custom(std::shared_ptr<const Graph> graph);

}  // namespace yantra
