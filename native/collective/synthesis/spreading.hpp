// TACOS: chunks spread from their owners to all ranks, link by link, as soon as a link is free.
//
// A free link sends a chunk that its end lacks: a random one, or one of the rarest, which more
// often finishes in time. Faster links choose first, and a slow one leaves chunks to faster ones
// that bring all that is missing sooner.
//
// Trade-off: no step is undone, so the result is not optimal; time is transfers times chunks / 64.
//
// Source: Won et al., "TACOS: Topology-aware collective algorithm synthesizer" (MICRO 2024), for
// the search over events of free links; Cohen, "Incentives build robustness in BitTorrent" (2003),
// for rarest first.
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

// Chunk c starts at rank owners[c]. Sorted by start. Precondition: every rank reaches every other.
Vector<Transfer> spread_chunks(u32 ranks, const Vector<TimedLink>& links, const Vector<u32>& owners,
                                    Choice choice, u64 seed);

}  // namespace yantra::synthesis
