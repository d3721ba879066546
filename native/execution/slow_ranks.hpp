// SlowRanks: how long a kernel takes on a rank that is slower for a while.
//
// What a kernel does in a time within a spell is that time over the spell's factor, so a kernel that a spell
// begins or ends in is slow for that part alone. Only compute is slower: messages, memory and the host are not.
// Trade-off: the spells are known before the run, so the end of a kernel is known when it starts.
#pragma once

#include <algorithm>
#include <cmath>
#include <span>

#include "workload/slow_spells.hpp"

namespace yantra {

class SlowRanks {
public:
    // By rank, then by time; spells of a rank do not overlap. They outlive this.
    explicit SlowRanks(std::span<const SlowSpell> spells) : spells_(spells) {}

    bool any() const { return !spells_.empty(); }

    // The ticks from `now` until work of so many ticks is done.
    u64 ticks(u32 rank, u64 now, u64 work) const {
        const auto is_before = [](const SlowSpell& spell, std::pair<u32, u64> at) {
            return std::pair{spell.rank, spell.until} <= at;
        };
        auto spell = std::lower_bound(spells_.begin(), spells_.end(), std::pair{rank, now}, is_before);
        double left = static_cast<double>(work);
        u64 at = now;
        for (; spell != spells_.end() && spell->rank == rank; ++spell) {
            const double ahead = spell->from > at ? static_cast<double>(spell->from - at) : 0.0;
            if (left <= ahead) {
                break;
            }
            left -= ahead;
            at = std::max(at, spell->from);
            const double room = static_cast<double>(spell->until - at);
            if (left * spell->factor <= room) {
                return at + static_cast<u64>(std::llround(left * spell->factor)) - now;
            }
            left -= room / spell->factor;
            at = spell->until;
        }
        return at + static_cast<u64>(std::llround(left)) - now;
    }

private:
    std::span<const SlowSpell> spells_;
};

}  // namespace yantra
