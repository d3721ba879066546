#include "trace/tools/paths.hpp"

#include <algorithm>
#include <functional>
#include <queue>

#include "base/interruption.hpp"
#include "base/types.hpp"

namespace yantra {

namespace {

using Sum = unsigned __int128;

// `next(ready)` takes a node of those that are ready; `put` adds one.
template <typename Ready, typename Next>
std::vector<std::uint32_t> in_order(const Graph& graph, Ready ready, const Next& next) {
    std::vector<std::uint32_t> waiting(graph.parent_count.begin(), graph.parent_count.end());
    std::vector<std::uint32_t> order;
    order.reserve(graph.size());
    for (std::uint32_t node = 0; node < graph.size(); ++node) {
        if (waiting[node] == 0) {
            ready.push(node);
        }
    }
    while (!ready.empty()) {
        look_up();
        const std::uint32_t node = next(ready);
        ready.pop();
        order.push_back(node);
        for (std::uint32_t i = graph.child_begin[node]; i < graph.child_begin[node + 1]; ++i) {
            if (--waiting[graph.child[i]] == 0) {
                ready.push(graph.child[i]);
            }
        }
    }
    return order;
}

struct Ends {
    std::vector<Sum> end;
    std::vector<std::uint32_t> depth, before;
};

Ends ends_of(const Graph& graph, const std::vector<std::uint32_t>& order) {
    Ends found{std::vector<Sum>(graph.size()), std::vector<std::uint32_t>(graph.size()),
               std::vector<std::uint32_t>(graph.size(), none)};
    for (const std::uint32_t node : order) {
        Sum latest = 0;
        std::uint32_t deepest = 0;
        std::uint32_t chosen = none;
        for (std::uint32_t i = graph.parent_begin[node]; i < graph.parent_begin[node + 1]; ++i) {
            const std::uint32_t parent = graph.parent[i];
            const Sum end = found.end[parent];
            if (chosen == none || end > latest || (end == latest && parent < chosen)) {
                latest = end;
                chosen = parent;
            }
            deepest = std::max(deepest, found.depth[parent]);
        }
        found.before[node] = chosen;
        found.end[node] = latest + graph.duration_micros[node];
        found.depth[node] = deepest + 1;
    }
    return found;
}

std::uint32_t widest(const Ends& ends, const std::vector<std::uint32_t>& order, std::uint32_t depth) {
    std::vector<std::uint32_t> nodes(depth + std::size_t{1}, 0);
    for (const std::uint32_t node : order) {
        ++nodes[ends.depth[node]];
    }
    return *std::ranges::max_element(nodes);
}

}  // namespace

LongestPath longest_path(const Graph& graph) {
    const std::vector<std::uint32_t> order = in_order(
        graph, std::queue<std::uint32_t>(), [](const auto& ready) { return ready.front(); });
    LongestPath path;
    path.left_out = graph.size() - static_cast<std::uint32_t>(order.size());
    if (order.empty()) {
        return path;
    }
    const Ends ends = ends_of(graph, order);
    std::uint32_t last = none;
    for (const std::uint32_t node : order) {
        path.depth = std::max(path.depth, ends.depth[node]);
        if (last == none || ends.end[node] > ends.end[last] || (ends.end[node] == ends.end[last] && node < last)) {
            last = node;
        }
    }
    path.width = widest(ends, order, path.depth);
    path.micros = {static_cast<std::uint64_t>(ends.end[last] >> 64U), static_cast<std::uint64_t>(ends.end[last])};
    for (std::uint32_t node = last; node != none; node = ends.before[node]) {
        path.nodes.push_back(node);
    }
    std::ranges::reverse(path.nodes);
    return path;
}

std::vector<std::uint32_t> issue_order(const Graph& graph) {
    std::priority_queue<std::uint32_t, std::vector<std::uint32_t>, std::greater<>> ready;
    return in_order(graph, std::move(ready), [](const auto& waiting) { return waiting.top(); });
}

}  // namespace yantra
