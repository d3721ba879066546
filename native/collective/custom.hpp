// CustomCollective: a collective given as Chakra graphs, one for each position: sends, receives and
// timed compute, of a size (comm_size) or a share (msg_chunk_cnt of total_chunk_cnt chunks). All
// ready ones start at once (astra-sim-semantics 8, 9.1).
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
    bool over_members = false;                // ranks in the graphs are positions in the communicator
    bool hash_order = true;
};

bool has_chunks(const Graph& graph, u32 node);

u64 custom_bytes(const Graph& graph, u32 node, u64 collective_bytes);

CustomPosition prepare_custom(std::shared_ptr<const Graph> graph);

}  // namespace yantra
