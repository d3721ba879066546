// Compute nodes, and how long nodes take that were recorded.
#pragma once

#include "workload/node_reader.hpp"

namespace yantra {

void lower_compute(NodeReader& reader, Op& op, bool on_cpu);

// The duration that the trace gives a node.
u64 recorded_ticks(NodeReader& reader);

// Whether the release of the Hot Interconnects 2024 tutorial skips a node on the CPU: it has neither a
// duration nor operations.
bool skipped_by_tutorial(const NodeReader& reader);

}  // namespace yantra
