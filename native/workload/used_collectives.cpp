#include "workload/used_collectives.hpp"

#include <algorithm>
#include <bit>
#include <string_view>
#include <utility>
#include <vector>

#include "trace/schema.hpp"

namespace yantra {

namespace {

constexpr u32 known_types = 64;   // of a comm_type as a bit; there are ten

using Use = std::pair<std::string_view, u64>;   // the name of a group, "" for all ranks, and a comm_type

// The graph keeps the names.
void add_uses(const Graph& graph, std::vector<u64>& types, std::vector<Use>& uses) {
    types.assign(graph.pg_names.size() + 1, 0);   // by group, then of all ranks: bits of comm_types
    const auto name_of = [&graph](std::size_t group) {
        return group < graph.pg_names.size() ? std::string_view(graph.pg_names[group]) : std::string_view();
    };
    for (u32 node = 0; node < graph.size(); ++node) {
        if (static_cast<NodeType>(graph.type[node]) != NodeType::comm_coll ||
            graph.comm_type.kind_of(node) != IntColumn::integer) {
            continue;
        }
        const i32 named = graph.pg_name[node];
        const std::size_t group = named >= 0 ? static_cast<std::size_t>(named) : graph.pg_names.size();
        const u64 type = graph.comm_type.value[node];
        if (type < known_types) {
            types[group] |= u64{1} << type;
        } else {
            uses.emplace_back(name_of(group), type);
        }
    }
    for (std::size_t group = 0; group < types.size(); ++group) {
        for (u64 left = types[group]; left != 0; left &= left - 1) {
            uses.emplace_back(name_of(group), std::countr_zero(left));
        }
    }
}

}  // namespace

std::vector<UsedCollective> used_collectives(
    const std::vector<std::shared_ptr<const Graph>>& graphs) {
    std::vector<u64> types;
    std::vector<Use> uses;
    for (const std::shared_ptr<const Graph>& graph : graphs) {
        add_uses(*graph, types, uses);
    }
    std::sort(uses.begin(), uses.end());
    uses.erase(std::unique(uses.begin(), uses.end()), uses.end());
    std::vector<UsedCollective> found;
    for (const auto& [group, comm_type] : uses) {
        found.push_back({std::string(group), comm_type});
    }
    return found;
}

}  // namespace yantra
