#include "collective/custom.hpp"

#include <algorithm>
#include <utility>
#include <vector>

namespace yantra {

bool has_chunks(const Graph& graph, u32 node) {
    return graph.msg_chunk_cnt.kind_of(node) == IntColumn::integer &&
           graph.total_chunk_cnt.kind_of(node) == IntColumn::integer;
}

u64 custom_bytes(const Graph& graph, u32 node, u64 collective_bytes) {
    if (graph.comm_size.kind_of(node) != IntColumn::absent) {
        return graph.comm_size.value[node];
    }
    const u64 chunks = graph.msg_chunk_cnt.value[node];
    const u64 total = graph.total_chunk_cnt.value[node];
    const u64 rest = collective_bytes % total * chunks;
    return collective_bytes / total * chunks + (rest + total - 1) / total;
}

// The free set is filled from a map of nodes in file order, as upstream's.
CustomPosition prepare_custom(std::shared_ptr<const Graph> graph) {
    CustomPosition position;
    UnorderedOrder seen;
    std::vector<UnorderedOrder> children(graph->size());
    for (u32 node : graph->file_order) {
        seen.insert(graph->id[node]);
        UnorderedOrder parents;
        for (u32 i = graph->parent_begin[node]; i < graph->parent_begin[node + 1]; ++i) {
            parents.insert(graph->id[graph->parent[i]]);
        }
        for (u64 parent : parents.keys()) {
            seen.insert(parent);
        }
        for (u32 i = graph->parent_begin[node]; i < graph->parent_begin[node + 1]; ++i) {
            children[graph->parent[i]].insert(graph->id[node]);
        }
    }
    auto node_of = [&](u64 id) {
        const auto found = std::lower_bound(graph->id.begin(), graph->id.end(), id);
        return static_cast<u32>(found - graph->id.begin());
    };
    for (u64 id : seen.keys()) {
        const u32 node = node_of(id);
        if (graph->parent_count[node] == 0) {
            position.ready.insert(id);
        }
    }
    position.children.resize(graph->size());
    for (u32 node = 0; node < graph->size(); ++node) {
        for (u64 id : children[node].keys()) {
            position.children[node].push_back(node_of(id));
        }
    }
    position.graph = std::move(graph);
    return position;
}

}  // namespace yantra
