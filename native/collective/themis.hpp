// Themis: in which order the chunks of a collective visit the dimensions, by balancing their load.
//
// (Rashidi et al., "Themis: a network bandwidth-aware collective scheduling policy for distributed
// training of DL models", ISCA 2022, algorithm 1.) This is the form that upstream compiled as
// OfflineGreedy and OfflineGreedyFlex, oddities included (astra-sim-semantics 4.7): one load table
// for all ranks, reset when rank 0 starts a collective at a new time; an order is decided by whichever
// rank asks first and then replayed to the others.
#pragma once

#include <unordered_map>

#include "base/types.hpp"
#include "base/vector.hpp"
#include "collective/kind.hpp"
#include "fabric/grid.hpp"

namespace yantra {

struct ThemisDecision {
    Vector<u32> order;  // dimensions
    u64 bytes = 0;           // taken from the collective's remaining data
};

class Themis {
public:
    Themis(const Grid& grid, bool flexible);

    // To be called when `rank` starts a collective.
    void collective_starts(u32 rank, u64 now);

    // The decision for chunk `id`; `remaining` is what the asking rank has left to place.
    ThemisDecision choose(u64 id, u64 remaining, u64 recommended, CollectiveKind kind, u64 involved);

private:
    struct Load {
        double value = 0.0;
        u32 dimension = 0;
    };
    struct Memo {
        ThemisDecision decision;
        u32 consumers = 0;
    };

    ThemisDecision decide(u64 remaining, u64 recommended, bool gather, u64 involved);
    bool takes_part(u32 dimension, u64 involved) const;
    u64 balancing_bytes(u32 first, bool gather, u64 involved) const;
    u64 bytes_for(double load, u32 dimension, bool gather) const;
    void add(Load& load, u32 dimension, u64& chunk, bool gather) const;
    ThemisDecision in_plain_order(u64 remaining, u64 chunk, u64 taken, bool gather, u64 involved);

    const Grid& grid_;
    bool flexible_;
    u64 last_start_ = 0;
    Vector<Load> table_;
    std::unordered_map<u64, Memo> memo_;
};

}  // namespace yantra
