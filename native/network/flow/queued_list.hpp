// A list of flows as whole messages over links with queues.
//
// Rules and ticks of network/fabric_queues.hpp. Ties go by the list. Costs two events per hop.
#pragma once

#include <memory>

#include "network/flow/flow_run.hpp"

namespace yantra {

// Flows without links end at once. std::invalid_argument for an invalid flow, TooLong for one
// beyond the clock.
std::unique_ptr<FlowRun> queue_flows(FlowList flows, LinkSpeeds links, bool keeps_series = false);

}  // namespace yantra
