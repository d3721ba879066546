// A list of flows, each one whole message, over links with a queue each: when each is through.
//
// The rules of network/fabric_queues.hpp, and its ticks: a link takes whole messages in the order in which they
// come, each hop takes latency + size / bandwidth, and the link is free after size / bandwidth. What begins at one
// tick begins in the order of the list. Costs two events per hop.
#pragma once

#include <memory>

#include "network/flow/flow_run.hpp"

namespace yantra {

// The run of a list. Flows without links are through at once. std::invalid_argument for a flow that is none, and
// TooLong for one that takes longer than the clock counts.
std::unique_ptr<FlowRun> queue_flows(FlowList flows, LinkSpeeds links, bool keeps_series = false);

}  // namespace yantra
