// A list of flows as whole messages over links with queues (network/fabric_queues.hpp). Ties go by
// the list.
#pragma once

#include <memory>

#include "network/flow/flow_run.hpp"

namespace yantra {

// std::invalid_argument for an invalid flow, TooLong for one beyond the clock.
std::unique_ptr<FlowRun> queue_flows(FlowList flows, LinkSpeeds links, bool keeps_series = false);

}  // namespace yantra
