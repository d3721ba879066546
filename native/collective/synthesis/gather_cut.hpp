// The bottleneck of an all-gather: the set of devices with most ranks inside per outgoing rate, by
// Dinkelbach's steps ("On nonlinear fractional programming", Management Science 13, 1967). Source:
// ForestColl (arXiv 2402.06787).
#pragma once

#include <vector>

#include "base/types.hpp"
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
    std::vector<u8> inside;
};

// Over sets without each of `sinks`; devices 0 to ranks - 1 are the ranks. Preconditions: every
// rank reaches every other; capacities times ranks fit.
GatherCut gather_cut(u32 ranks, u32 devices, const std::vector<Link>& links,
                     const std::vector<u32>& sinks);

}  // namespace yantra::synthesis
