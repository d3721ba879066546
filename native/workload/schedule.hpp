// Adds to a job which ready node, and which collective, goes first.
#pragma once

#include <memory>
#include <span>

#include "workload/job.hpp"

namespace yantra {

// The highest priority, then the lowest id. `of_collective`: comm_priority by node, may be empty.
std::shared_ptr<const Job> scheduled(const Job& job, std::span<const i64> priority,
                                     std::span<const i64> of_collective);

}  // namespace yantra
