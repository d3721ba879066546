// Checks beyond a single node.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "workload/job.hpp"

namespace yantra {

// Peers, its own number, membership of communicators.
std::vector<Problem> check_rank(const Job& job, u32 rank, u32 ranks,
                                const std::function<bool(u32)>& is_member);

std::vector<Problem> check_custom(const Graph& graph, u32 positions, bool whole_microseconds);

// Appends problems.
bool check_duration(const Graph& graph, u32 node, bool whole_microseconds, u64 longest_ns,
                    std::vector<Problem>& problems);

std::string beyond(u64 longest_ns);

}  // namespace yantra
