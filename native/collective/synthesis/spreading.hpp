// TACOS (Won et al., MICRO 2024): chunks spread from their owners to all ranks, link by link, as
// soon as a link is free; rarest first (Cohen, "Incentives build robustness in BitTorrent", 2003).
// Trade-off: no step is undone, so the result is not optimal.
#pragma once

#include <vector>

#include "base/types.hpp"

namespace yantra::synthesis {

struct TimedLink {
    u32 start;
    u32 end;
    i64 duration;  // of one chunk, in ticks; the link is busy that long
};

struct Transfer {
    u32 link;
    u32 chunk;
    i64 start;
    i64 end;
};

enum class Choice : u8 { any, rarest };

// Chunk c starts at rank owners[c]. Sorted by start. Precondition: every rank reaches every other.
std::vector<Transfer> spread_chunks(u32 ranks, const std::vector<TimedLink>& links,
                                    const std::vector<u32>& owners, Choice choice, u64 seed);

}  // namespace yantra::synthesis
