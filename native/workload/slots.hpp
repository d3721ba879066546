// Slots: the kind of slot that a node occupies while it runs.
#pragma once

#include "workload/node_reader.hpp"

namespace yantra {

u8 slot_of(const NodeReader& reader, const Op& op, bool on_cpu);

}  // namespace yantra
