// Trees from every rank to all others that fit on the links together, as many as the cut bound allows.
//
// A tree grows link by link; a link is taken with as many copies of the tree as leave every rank able to
// be reached by all trees that are still to grow. Copies that it cannot take grow on as a tree of their own.
//
// Source: Edmonds, "Edge-disjoint branchings" (1973); Berczi and Frank, "Packing arborescences" (2010), for how
// many copies a link bears; ForestColl (arXiv 2402.06787), for their use.
#pragma once

#include "base/types.hpp"
#include "base/vector.hpp"
#include "collective/synthesis/gather_cut.hpp"

namespace yantra::synthesis {

struct Tree {
    u32 root;
    Amount copies;
    Vector<u32> links;  // from the root outwards: a link starts where the tree has been
};

// `trees` from each rank. Precondition: `gather_cut` of the links, none through a switch, allows as many.
Vector<Tree> pack_trees(u32 ranks, const Vector<Link>& links, Amount trees);

}  // namespace yantra::synthesis
