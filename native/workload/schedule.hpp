// Adds to a job which ready node, and which collective, goes first. Priorities become positions
// beforehand.
#pragma once

#include <memory>
#include <span>

#include "workload/job.hpp"

namespace yantra {

// Of ready nodes for a slot the highest priority starts first, then the lowest id. `of_collective`:
// comm_priority by node, may be empty, for collectives only. Precondition: as many numbers as
// nodes.
std::shared_ptr<const Job> scheduled(const Job& job, std::span<const i64> priority,
                                     std::span<const i64> of_collective);

}  // namespace yantra
