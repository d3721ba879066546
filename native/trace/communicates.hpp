// Kernels that communicate and have no size: which computations of a recording are communication.
//
// Whoever links a recording marks them with the attribute `communication`, whose text is the kind; other
// converters leave them as computations with the names that NCCL, RCCL and others give their kernels.
// Trade-off: names are believed only in recordings, which say that they order all their threads and
// streams; in a trace that was made, a computation is what it says it is.
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
