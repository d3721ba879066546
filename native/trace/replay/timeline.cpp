// A replay graph of durations alone, as recordings are timed by.
#include <cstdint>
#include <vector>

#include "trace/graph_parts.hpp"
#include "trace/replay/facts.hpp"

namespace yantra::replay {

Graph timeline(const Facts& facts, const Nodes& nodes) {
    Graph graph;
    NamePool names(graph, nodes.size());
    std::vector<std::uint32_t> seen(nodes.size(), none);  // the last node that waits for this one
    auto& begins = graph.parent_begin.own();
    auto& parents = graph.parent.own();
    for (auto* column : {&begins, &parents, &graph.file_order.own(), &graph.parent_count.own()}) {
        column->reserve(nodes.size() + 1);
    }
    for (auto* column : {&graph.id.own(), &graph.duration_micros.own(), &graph.is_cpu_op.value.own()}) {
        column->reserve(nodes.size());
    }
    parents.reserve(nodes.dep.size());
    for (std::uint32_t node = 0; node < nodes.size(); ++node) {
        const bool is_device = nodes.kind[node] == Kind::device;
        graph.id.own().push_back(node);
        graph.file_order.own().push_back(node);
        graph.type.own().push_back(is_device ? facts.ops[nodes.source[node]].type
                                             : static_cast<std::int32_t>(NodeType::comp));
        graph.duration_micros.own().push_back(static_cast<std::uint64_t>(nodes.dur_us[node]));
        graph.is_cpu_op.kind.own().push_back(IntColumn::integer);
        graph.is_cpu_op.value.own().push_back(!is_device && nodes.device(node) < 0 ? 1 : 0);
        names.add(facts.names[nodes.name[node]]);
        begins.push_back(static_cast<std::uint32_t>(parents.size()));
        nodes.each_dep(node, [&](std::uint32_t on) {
            if (seen[on] != node) {
                seen[on] = node;
                parents.push_back(on);
            }
        });
        graph.parent_count.own().push_back(static_cast<std::uint32_t>(parents.size()) - begins.back());
    }
    begins.push_back(static_cast<std::uint32_t>(parents.size()));
    add_children(graph);
    graph.file_order.clear();
    return graph;
}

}  // namespace yantra::replay
