// Checks beyond a single node: who runs a job, and traces that represent a collective.
#pragma once

#include <functional>
#include <string>

#include "base/vector.hpp"
#include "workload/job.hpp"

namespace yantra {

// For a rank that runs the job: peers, its own number, membership of communicators.
Vector<Problem> check_rank(const Job& job, u32 rank, u32 ranks,
                                const std::function<bool(u32)>& is_member);

// Checks a trace for a collective among `positions` ranks.
Vector<Problem> check_custom(const Graph& graph, u32 positions, bool whole_microseconds);

// Whether it is there and within the run's clock; appends problems.
bool check_duration(const Graph& graph, u32 node, bool whole_microseconds, u64 longest_ns,
                    Vector<Problem>& problems);

std::string beyond(u64 longest_ns);

}  // namespace yantra
