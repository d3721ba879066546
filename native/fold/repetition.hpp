// Repetition: finds where a job repeats, so that a run can fast-forward over equal parts.
//
// Micro-batches, layers and iterations are copies of one block, so a long job is mostly one block
// many times. Only operations and the edges between them are compared here. Whether the run may skip
// them depends on its whole state, and is decided there. For every distance d, the Z function
// (Gusfield, "Algorithms on strings, trees and sequences", 1997, section 1.3) gives how many nodes
// equal the nodes d later, in time linear in the length of the job.
#pragma once

#include "workload/job.hpp"

namespace yantra {

// From `first` on nodes equal those `period` further on; 0 where nothing repeats often enough.
struct Repeats {
    u32 first = 0;
    u32 period = 0;
};

Repeats find_repeats(const Job& job);

// Whether two nodes do the same, to nodes as far away, and stand as far apart in the order in which
// ready nodes start. The tag of the later message is `tag_step` higher.
bool repeats(const Job& job, u32 node, u32 later, u32 tag_step);

}  // namespace yantra
