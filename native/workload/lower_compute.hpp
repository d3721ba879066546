// Compute nodes, and recorded durations.
#pragma once

#include "workload/node_reader.hpp"

namespace yantra {

void lower_compute(NodeReader& reader, Op& op, bool on_cpu);

u64 recorded_ticks(NodeReader& reader);

// Whether its time is compute.
bool computes(const NodeReader& reader, bool on_cpu);

// The Hot Interconnects 2024 tutorial's release.
bool skipped_by_tutorial(const NodeReader& reader);

}  // namespace yantra
