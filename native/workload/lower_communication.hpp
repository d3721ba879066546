// Messages between two ranks, and collectives.
#pragma once

#include "workload/node_reader.hpp"

namespace yantra {

void lower_communication(NodeReader& reader, Op& op, bool on_cpu);

}  // namespace yantra
