// Slack: how much later each node could have ended with the makespan as it is.
//
// In the recorded order of things: whatever waited for the same slot, queue, link or memory gets it in
// the same turn. Over the graph of moments it is the smallest, over all ways to the end of a node that
// decides, of what waits along the way; one pass from the last moment to the first finds it (the
// backward pass of the critical path method, Kelley and Walker, 1959).
#pragma once

#include "base/vector.hpp"
#include "record/recording.hpp"
#include "run/outcome.hpp"

namespace yantra {

// In ticks, by the place of the node; `never` where it did not end.
Vector<u64> slack(const Outcome& outcome, const Recording& recording);

}  // namespace yantra
