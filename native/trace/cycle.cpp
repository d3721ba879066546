#include "trace/cycle.hpp"

#include <algorithm>
#include <cstddef>
#include <span>
#include <vector>

#include "base/ensure.hpp"

namespace yantra {

namespace {

std::span<const std::uint32_t> parents_of(const Graph& graph, std::uint32_t node) {
    return std::span(graph.parent)
        .subspan(graph.parent_begin[node], graph.parent_begin[node + 1] - graph.parent_begin[node]);
}

bool parents_come_first(const Graph& graph) {
    for (std::uint32_t node = 0; node < graph.size(); ++node) {
        for (const std::uint32_t parent : parents_of(graph, node)) {
            if (parent >= node) {
                return false;
            }
        }
    }
    return true;
}

std::vector<std::uint32_t> waiting_for(const Graph& graph, std::uint32_t& stuck) {
    std::vector<std::uint32_t> waiting(graph.parent_count.begin(), graph.parent_count.end());
    std::vector<std::uint32_t> ready;
    for (std::uint32_t node = 0; node < graph.size(); ++node) {
        if (waiting[node] == 0) {
            ready.push_back(node);
        }
    }
    for (stuck = graph.size(); !ready.empty(); --stuck) {
        const std::uint32_t node = ready.back();
        ready.pop_back();
        for (std::uint32_t i = graph.child_begin[node]; i < graph.child_begin[node + 1]; ++i) {
            if (--waiting[graph.child[i]] == 0) {
                ready.push_back(graph.child[i]);
            }
        }
    }
    return waiting;
}

}  // namespace

CycleReport find_cycle(const Graph& graph) {
    CycleReport report;
    if (parents_come_first(graph)) {
        return report;
    }
    const std::vector<std::uint32_t> waiting = waiting_for(graph, report.stuck);
    if (report.stuck == 0) {
        return report;
    }
    const auto stuck = [&](std::uint32_t node) { return waiting[node] != 0; };
    std::uint32_t node = 0;
    while (!stuck(node)) {
        ++node;
    }
    std::vector<std::uint32_t> step(graph.size(), 0);  // 1 + place on the path
    std::vector<std::uint32_t> path;
    while (step[node] == 0) {
        path.push_back(node);
        step[node] = static_cast<std::uint32_t>(path.size());
        const std::span<const std::uint32_t> parents = parents_of(graph, node);
        const auto next = std::find_if(parents.begin(), parents.end(), stuck);
        ensure(next != parents.end(), "cycle: a stuck node without a stuck parent");
        node = *next;
    }
    report.cycle.assign(path.rbegin(), path.rend() - (step[node] - 1));
    std::rotate(report.cycle.begin(), std::min_element(report.cycle.begin(), report.cycle.end()),
                report.cycle.end());
    return report;
}

std::string describe(const CycleReport& report, const Graph& graph) {
    constexpr std::size_t shown_at_most = 8;
    const std::string first = std::to_string(graph.id[report.cycle.front()]);
    const std::string behind = std::to_string(report.stuck) +
                               (report.stuck == 1 ? " node can never run" : " nodes can never run");
    if (report.cycle.size() == 1) {
        return "it depends on itself; " + behind;
    }
    std::string text = "nodes ";
    for (std::size_t i = 0; i < std::min(report.cycle.size(), shown_at_most); ++i) {
        text += std::to_string(graph.id[report.cycle[i]]) + " -> ";
    }
    if (report.cycle.size() > shown_at_most) {
        text += "... (" + std::to_string(report.cycle.size()) + " nodes) -> ";
    }
    return text + first + " wait for each other in a circle; " + behind;
}

}  // namespace yantra
