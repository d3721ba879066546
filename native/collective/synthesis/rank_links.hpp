// A fabric without its switches: links between ranks, each with its ways through the switches.
//
// A switch is split off: what comes from u and goes to t becomes a link from u to t, as much as
// still lets every rank be sent `trees` from each. So no all-gather becomes slower, no switch
// multicasts, and its total load stays. Splits are first in proportion, ranks before switches,
// which keeps trees low and fabrics even; where that costs bandwidth, pair by pair.
//
// Source: ForestColl (arXiv 2402.06787), removal of switches; Frank, "On connectivity properties of
// Eulerian digraphs" (1988), for splitting off. Switches must send as much as they receive.
#pragma once

#include "base/types.hpp"
#include "base/vector.hpp"
#include "collective/synthesis/gather_cut.hpp"

namespace yantra::synthesis {

// Part of a link between ranks: its devices, including both ranks.
struct Way {
    Amount amount;
    Vector<u32> devices;
};

struct RankLink {
    u32 start;
    u32 end;
    Amount capacity;
    Vector<Way> ways;
};

// Precondition: `gather_cut` allows `trees` a rank. Raises Unsupported where a switch cannot be
// removed.
Vector<RankLink> rank_links(u32 ranks, u32 devices, const Vector<Link>& links, Amount trees);

}  // namespace yantra::synthesis
