// A fabric without its switches: links between ranks, with their ways, splitting off switches as
// far as `trees` from each rank allow. Source: ForestColl (arXiv 2402.06787); Frank, "On
// connectivity properties of Eulerian digraphs" (1988). Switches must send as much as they receive.
#pragma once

#include <vector>

#include "base/types.hpp"
#include "collective/synthesis/gather_cut.hpp"

namespace yantra::synthesis {

struct Way {
    Amount amount;
    std::vector<u32> devices;
};

struct RankLink {
    u32 start;
    u32 end;
    Amount capacity;
    std::vector<Way> ways;
};

// Precondition: `gather_cut` allows `trees` a rank. Raises Unsupported where a switch cannot be
// removed.
std::vector<RankLink> rank_links(u32 ranks, u32 devices, const std::vector<Link>& links,
                                 Amount trees);

}  // namespace yantra::synthesis
