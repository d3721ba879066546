// Trees from every rank to all others that fit on the links together, as many as the cut bound
// allows. Source: Edmonds, "Edge-disjoint branchings" (1973); Berczi and Frank, "Packing
// arborescences" (2010); ForestColl (arXiv 2402.06787).
#pragma once

#include <vector>

#include "base/types.hpp"
#include "collective/synthesis/gather_cut.hpp"

namespace yantra::synthesis {

struct Tree {
    u32 root;
    Amount copies;
    std::vector<u32> links;  // from the root outwards: each starts where the tree already is
};

// Precondition: `gather_cut` of the links, none through a switch, allows `trees` a rank.
std::vector<Tree> pack_trees(u32 ranks, const std::vector<Link>& links, Amount trees);

}  // namespace yantra::synthesis
