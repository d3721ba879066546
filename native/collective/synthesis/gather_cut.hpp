// The bottleneck of an all-gather: the set of devices with most ranks inside per outgoing rate.
//
// A rate suffices if a source that gives it to every rank can reach each rank with all of them; a
// violated set gives the next rate, until none is violated.
//
// Source: ForestColl (arXiv 2402.06787), optimality of all-gather; Dinkelbach, "On nonlinear
// fractional programming", Management Science 13 (1967), for the steps.
#pragma once

#include "base/types.hpp"
#include "base/vector.hpp"
#include "collective/synthesis/amount.hpp"

namespace yantra::synthesis {

struct Link {
    u32 start;
    u32 end;
    Amount capacity;
};

struct GatherCut {
    Amount exit = 0;
    u32 ranks = 0;
    Vector<u8> inside;
};

// Over sets without each of `sinks`; devices 0 to ranks - 1 are the ranks. Preconditions: every
// rank reaches every other; the sum of capacities times the ranks must fit.
GatherCut gather_cut(u32 ranks, u32 devices, const Vector<Link>& links, const Vector<u32>& sinks);

}  // namespace yantra::synthesis
