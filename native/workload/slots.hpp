// Slots: which kind of slot a node occupies while it runs.
#pragma once

#include "workload/node_reader.hpp"

namespace yantra {

// Of a communication node, `op` must have its communicator.
u8 slot_of(const NodeReader& reader, const Op& op, bool on_cpu);

}  // namespace yantra
