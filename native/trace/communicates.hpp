// Which computations of a recording are communication: kernels that communicate, without sizes.
//
// Linked recordings mark them with the attribute `communication` (its text is the kind); other
// converters leave the kernel names of NCCL, RCCL and others. Trade-off: names count only in
// recordings, which declare a complete order.
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

}  // namespace yantra
