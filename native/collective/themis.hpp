// Themis: chunks visit the dimensions in the order that balances load (Rashidi et al., ISCA 2022,
// algorithm 1), as upstream's OfflineGreedy and OfflineGreedyFlex (astra-sim-semantics 4.7): one
// load table for all members.
#pragma once

#include <unordered_map>
#include <vector>

#include "base/types.hpp"
#include "collective/kind.hpp"

namespace yantra {

struct ThemisDecision {
    std::vector<u32> order;  // dimensions
    u64 bytes = 0;           // taken from the collective's remaining data
};

class Themis {
public:
    // Bandwidth in any unit.
    struct Along {
        u32 size = 1;
        double weight = 1.0;
    };

    Themis(std::vector<Along> dimensions, u32 members, bool flexible);

    bool is_next(u64 id) const { return id >= next_; }
    // Upstream: the lowest-numbered member, else whoever comes first.
    void collective_starts(u64 now);

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

    std::vector<Along> dimensions_;
    u32 members_;
    bool flexible_;
    u64 last_start_ = 0;
    u64 next_ = 0;             // chunk that nobody has asked for
    std::vector<Load> table_;
    std::unordered_map<u64, Memo> memo_;
};

}  // namespace yantra
