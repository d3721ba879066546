// Checks of traces that no lowering of a single node can make: who runs a job, and traces that stand
// for a collective.
#pragma once

#include <functional>
#include <vector>

#include "workload/job.hpp"

namespace yantra {

// What is wrong with a job if this rank runs it: its peers, its own number, or its membership of a
// communicator.
std::vector<Problem> check_rank(const Job& job, u32 rank, u32 ranks,
                                const std::function<bool(u32)>& is_member);

// What is wrong with a trace that stands for a collective among `positions` ranks.
std::vector<Problem> check_custom(const Graph& graph, u32 positions, bool whole_microseconds);

// Appends what is wrong with the duration of a node in nanoseconds, if it has one.
void check_duration(const Graph& graph, u32 node, std::vector<Problem>& problems);

}  // namespace yantra
