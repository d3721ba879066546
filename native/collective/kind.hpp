// Collective operations, in the order of every per-kind table.
#pragma once

#include "base/types.hpp"

namespace yantra {

enum class CollectiveKind : u8 {
    all_reduce,
    reduce_scatter,
    all_gather,
    all_to_all,
    broadcast,
    reduce,
    gather,
    scatter,
    barrier,
};

inline constexpr u32 collective_kinds = 9;

inline bool gathers_or_scatters(CollectiveKind kind) {
    return kind == CollectiveKind::all_gather || kind == CollectiveKind::reduce_scatter;
}

}  // namespace yantra
