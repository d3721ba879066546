// Repetition: where a job repeats, so that a run can fast-forward, by the Z function (Gusfield,
// "Algorithms on strings, trees and sequences", 1997, section 1.3). Only operations and edges are
// compared.
#pragma once

#include "workload/job.hpp"

namespace yantra {

// From `first` on, nodes equal those `period` later; 0 if too few.
struct Repeats {
    u32 first = 0;
    u32 period = 0;
};

Repeats find_repeats(const Job& job);

// The later tag is `tag_step` higher.
bool repeats(const Job& job, u32 node, u32 later, u32 tag_step);

}  // namespace yantra
