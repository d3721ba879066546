// Compute nodes, and recorded durations.
#pragma once

#include "workload/node_reader.hpp"

namespace yantra {

void lower_compute(NodeReader& reader, Op& op, bool on_cpu);

u64 recorded_ticks(NodeReader& reader);

// The Hot Interconnects 2024 tutorial's release skips CPU nodes with neither duration nor
// operations.
bool skipped_by_tutorial(const NodeReader& reader);

}  // namespace yantra
