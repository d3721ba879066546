// The set of devices that an all-gather is slowest to get out of: most ranks inside per rate at which it lets out.
//
// A rate is enough if, with a source that gives it to every rank, each rank can be sent that of all; the
// set that breaks a rate gives the next one, until none breaks it.
//
// Source: ForestColl (arXiv 2402.06787), the optimality of all-gather; Dinkelbach, "On nonlinear fractional
// programming", Management Science 13 (1967), for the steps.
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

// Looks for sets without each of `sinks`; devices 0 to ranks - 1 are the ranks. Every rank reaches every
// other, capacities are small enough that their sum times the number of ranks is.
GatherCut gather_cut(u32 ranks, u32 devices, const Vector<Link>& links, const Vector<u32>& sinks);

}  // namespace yantra::synthesis
