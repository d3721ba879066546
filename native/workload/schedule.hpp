// What a scheduler says of a job, put into it: which ready node starts first, which collective goes first.
//
// Priorities become positions once, when a job is compiled, so a run compares numbers and asks nobody.
#pragma once

#include <memory>
#include <span>

#include "workload/job.hpp"

namespace yantra {

// The job, in which of the ready nodes for a slot the one of the highest priority starts first, of
// equal ones the first by id. `of_collective` by node is what traces give as comm_priority, and may be
// empty; it counts for collectives alone. Precondition: as many numbers as nodes.
std::shared_ptr<const Job> scheduled(const Job& job, std::span<const i64> priority,
                                     std::span<const i64> of_collective);

}  // namespace yantra
