// Slack: how much later each node could have ended without changing the makespan. Slack is the
// least waiting over all ways to the deciding end, found in one pass from the last moment to the
// first (backward pass of the critical path method, Kelley and Walker, 1959).
#pragma once

#include <vector>

#include "record/recording.hpp"
#include "run/outcome.hpp"

namespace yantra {

// In ticks, by the place of the node; `never` where it did not end.
std::vector<u64> slack(const Outcome& outcome, const Recording& recording);

}  // namespace yantra
