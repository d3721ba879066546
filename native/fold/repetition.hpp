// Repetition: where a job repeats, so that a run can fast-forward.
//
// Only operations and edges are compared; whether a run may skip depends on its state. For every
// distance d the Z function (Gusfield, "Algorithms on strings, trees and sequences", 1997, section
// 1.3) counts nodes equal to those d later, in linear time.
#pragma once

#include "workload/job.hpp"

namespace yantra {

// From `first` on, nodes equal those `period` later; 0 if too few repeat.
struct Repeats {
    u32 first = 0;
    u32 period = 0;
};

Repeats find_repeats(const Job& job);

// Whether two nodes do the same, with equally distant nodes and in the same order of starting. The
// later tag is `tag_step` higher.
bool repeats(const Job& job, u32 node, u32 later, u32 tag_step);

}  // namespace yantra
