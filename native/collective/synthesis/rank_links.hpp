// A fabric without its switches: links between ranks, each of which goes some ways through the switches.
//
// A switch goes by splitting: what comes in from u and goes out to t becomes a link from u to t, as much of
// it as leaves every rank able to be sent `trees` from each at once. So no all-gather becomes slower, and
// no switch has to multicast. What a switch carries in total stays what its links carry.
//
// First all of a switch is split in proportion, ranks before switches, which keeps trees low and fabrics as
// even as they were; where that would cost bandwidth, pair by pair, as much as each pair can bear.
//
// Source: ForestColl (arXiv 2402.06787), the removal of switches; Frank, "On connectivity properties of
// Eulerian digraphs" (1988), for splitting off. It needs switches that let out as much as comes in.
#pragma once

#include "base/types.hpp"
#include "base/vector.hpp"
#include "collective/synthesis/gather_cut.hpp"

namespace yantra::synthesis {

// So much of a link between ranks goes this way: all devices of it, the two ranks included.
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

// Precondition: `gather_cut` allows `trees` a rank. Raises Unsupported where a switch cannot go.
Vector<RankLink> rank_links(u32 ranks, u32 devices, const Vector<Link>& links, Amount trees);

}  // namespace yantra::synthesis
