// Chunks spread from those who have them to all ranks, link by link, as soon as a link is free: TACOS.
//
// Whenever a link is free and its end lacks a chunk that its start has, one is sent. Faster links choose
// first, and a slow one leaves a chunk to faster ones that will bring all that is missing sooner. Which chunk goes
// is a matter of chance: any, or one of those that fewest ranks have, which more often leads to the end in time.
//
// Trade-off: no step is ever taken back, so the result is good, not best; it is made in the order of its
// transfers times the chunks over 64.
//
// Source: Won et al., "TACOS: Topology-aware collective algorithm synthesizer" (MICRO 2024), for the search over
// events of free links; the rule for rare chunks is that of file sharing: Cohen, "Incentives build
// robustness in BitTorrent" (2003).
#pragma once

#include "base/types.hpp"
#include "base/vector.hpp"

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

// Chunk c is at rank owners[c] at first. In the order of starts. Every rank reaches every other.
Vector<Transfer> spread_chunks(u32 ranks, const Vector<TimedLink>& links, const Vector<u32>& owners,
                                    Choice choice, u64 seed);

}  // namespace yantra::synthesis
