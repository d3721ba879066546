// Work: how much a run will do, told before it does any of it.
//
// Found from sizes, chunks and programs alone, once for each collective that differs. Trade-off: counts
// are those of a run that ends, give or take what only the run can find (which chunks wait where), and
// `bytes_needed` is the least that it takes: the nodes, the queues, and the chunks of the largest
// collective of each rank. Numbers are real, so that none is too large.
#pragma once

#include <optional>

#include "base/vector.hpp"
#include "model/model.hpp"

namespace yantra {

// A collective whose data grows beyond what the core counts.
struct TooLarge {
    u32 rank = none;   // the first that enters it
    u32 node = none;
    double bytes = 0.0;
};

struct Work {
    double nodes = 0.0;
    double messages = 0.0;
    double events = 0.0;
    double bytes_moved = 0.0;
    double chunks = 0.0;         // of each rank's largest collective
    double queues = 0.0;
    double queues_in_a_rank = 0.0;
    double bytes_needed = 0.0;   // of memory
    std::optional<TooLarge> too_large;
};

// The work of some ranks; of all where there are none.
Work work_of(const Model& model, const Vector<u32>& ranks = {});

}  // namespace yantra
