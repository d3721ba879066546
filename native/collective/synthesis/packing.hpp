// Trees from every rank to all others that fit on the links together, as many as the cut bound
// allows.
//
// A tree grows link by link, each with as many copies as leave every rank reachable by all
// unfinished trees. The remaining copies grow on as a separate tree.
//
// Source: Edmonds, "Edge-disjoint branchings" (1973); Berczi and Frank, "Packing arborescences"
// (2010), for the copies a link bears; ForestColl (arXiv 2402.06787), for their use.
#pragma once

#include "base/types.hpp"
#include "base/vector.hpp"
#include "collective/synthesis/gather_cut.hpp"

namespace yantra::synthesis {

struct Tree {
    u32 root;
    Amount copies;
    Vector<u32> links;  // from the root outwards: each starts where the tree already is
};

// `trees` from each rank. Precondition: `gather_cut` of the links, none through a switch, allows as
// many.
Vector<Tree> pack_trees(u32 ranks, const Vector<Link>& links, Amount trees);

}  // namespace yantra::synthesis
