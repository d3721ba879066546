// Which computations of a recording are communication (by the attribute `communication` of linked
// ones, else kernel names of NCCL, RCCL and others) or delays. Trade-off: names count only in
// recordings.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <string_view>

#include "trace/graph.hpp"
#include "trace/schema.hpp"

namespace yantra {

inline constexpr std::array<std::string_view, 4> communicating_names{"nccl", "rccl", "msccl", "oneccl"};

inline bool begins_with(std::string_view text, std::string_view lower) {
    return text.size() >= lower.size() && std::equal(lower.begin(), lower.end(), text.begin(), [](char a, char b) {
               return a == (b >= 'A' && b <= 'Z' ? static_cast<char>(b - 'A' + 'a') : b);
           });
}

// Whether a kernel of a recording has not the operations or bytes that a model needs.
inline bool lacks_work(const Graph& graph, std::uint32_t node, bool flops, bool bytes) {
    return graph.complete_order && ((flops && graph.num_ops.kind_of(node) == IntColumn::absent) ||
                                    (bytes && graph.tensor_size.kind_of(node) == IntColumn::absent));
}

inline bool communicates_at_recorded_time(const Graph& graph, std::uint32_t node) {
    if (!graph.complete_order || static_cast<NodeType>(graph.type[node]) != NodeType::comp) {
        return false;
    }
    if (graph.is_cpu_op.kind_of(node) == IntColumn::integer && graph.is_cpu_op.value[node] != 0) {
        return false;
    }
    if (graph.communication.kind_of(node) != IntColumn::absent) {
        return true;
    }
    return std::ranges::any_of(communicating_names,
                               [name = graph.name(node)](std::string_view known) { return begins_with(name, known); });
}

// Time that nothing recorded explains: also that of a step's mark outside all that it encloses.
inline bool names_a_delay(std::string_view name) { return name == "delay" || name.starts_with("ProfilerStep#"); }

inline bool is_delay(const Graph& graph, std::uint32_t node) {
    return graph.complete_order && static_cast<NodeType>(graph.type[node]) == NodeType::comp &&
           names_a_delay(graph.name(node));
}

}  // namespace yantra
