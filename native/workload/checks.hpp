// Checks of traces that no lowering of a single node can make: who runs a job, and traces that stand
// for a collective.
#pragma once

#include <functional>
#include <string>

#include "base/vector.hpp"
#include "workload/job.hpp"

namespace yantra {

// What is wrong with a job if this rank runs it: its peers, its own number, or its membership of a
// communicator.
Vector<Problem> check_rank(const Job& job, u32 rank, u32 ranks,
                                const std::function<bool(u32)>& is_member);

// What is wrong with a trace that stands for a collective among `positions` ranks.
Vector<Problem> check_custom(const Graph& graph, u32 positions, bool whole_microseconds);

// Whether the recorded duration of a node is one, and no longer than a run counts; appends what is wrong.
bool check_duration(const Graph& graph, u32 node, bool whole_microseconds, u64 longest_ns,
                    Vector<Problem>& problems);

// What to say of a duration that is longer than a run counts.
std::string beyond(u64 longest_ns);

}  // namespace yantra
