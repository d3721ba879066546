// Repetition: where the operations of a job are the same again, a number of nodes later.
//
// Micro-batches, layers and iterations are stamped from one block, so a long job is mostly one block
// many times. Only operations and the edges among them are compared here, not what they are for, nor
// what the rest of the run does meanwhile; skipping.cpp does. The Z function (Gusfield, "Algorithms on
// strings, trees and sequences", 1997, section 1.3) tells for every distance at once how far a part of
// the job equals what lies so far behind it, in time linear in its length.
#pragma once

#include "workload/job.hpp"

namespace yantra {

// From `first` on nodes equal those `period` further on; 0 where nothing repeats often enough.
struct Repeats {
    u32 first = 0;
    u32 period = 0;
};

Repeats find_repeats(const Job& job);

// Whether two nodes do the same, to nodes as far away. The tag of the later message is `tag_step`
// higher.
bool repeats(const Job& job, u32 node, u32 later, u32 tag_step);

}  // namespace yantra
