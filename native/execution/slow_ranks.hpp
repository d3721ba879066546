// SlowRanks: kernel times on ranks that are slower for a while: the part within a spell, by its
// factor. Messages, memory and the host are not.
#pragma once

#include <algorithm>
#include <cmath>
#include <span>

#include "workload/slow_spells.hpp"

namespace yantra {

class SlowRanks {
public:
    // By rank, then time, without overlap. They must outlive this.
    explicit SlowRanks(std::span<const SlowSpell> spells) : spells_(spells) {}

    bool any() const { return !spells_.empty(); }

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
