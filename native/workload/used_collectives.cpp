#include "workload/used_collectives.hpp"

#include <array>
#include <set>
#include <string_view>
#include <utility>

#include "trace/schema.hpp"

namespace yantra {

namespace {

using NumberedUse = std::pair<i32, u64>;   // the place of a group's name in its graph, and a comm_type
using NamedUse = std::pair<std::string_view, u64>;

// A few come again and again, so one that came lately is not looked for among all.
std::set<NumberedUse> numbered_uses(const Graph& graph) {
    constexpr std::size_t remembered = 64;
    constexpr NumberedUse nothing{Graph::group_other - 1, 0};
    std::array<NumberedUse, remembered> lately;
    lately.fill(nothing);
    std::set<NumberedUse> used;
    for (u32 node = 0; node < graph.size(); ++node) {
        if (static_cast<NodeType>(graph.type[node]) != NodeType::comm_coll ||
            graph.comm_type.kind_of(node) != IntColumn::integer) {
            continue;
        }
        const NumberedUse now{graph.pg_name[node], graph.comm_type.value[node]};
        NumberedUse& last = lately[(static_cast<u32>(now.first) * 16 + now.second) % remembered];
        if (last != now) {
            last = now;
            used.insert(now);
        }
    }
    return used;
}

}  // namespace

std::vector<UsedCollective> used_collectives(const std::vector<std::shared_ptr<const Graph>>& graphs) {
    std::set<NamedUse> named;   // the graphs keep the names
    for (const std::shared_ptr<const Graph>& graph : graphs) {
        for (const auto& [group, comm_type] : numbered_uses(*graph)) {
            std::string_view name;
            if (group >= 0) {
                name = graph->pg_names[static_cast<std::size_t>(group)];
            }
            named.emplace(name, comm_type);
        }
    }
    std::vector<UsedCollective> found;
    for (const auto& [group, comm_type] : named) {
        found.push_back({std::string(group), comm_type});
    }
    return found;
}

}  // namespace yantra
