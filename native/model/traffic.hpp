// Traffic: about what ranks send to whom, so that a network can be parted by work before it runs. A
// member of a collective is taken to send equal parts 1, 2, 4 and so on places further, whatever the
// algorithm. Trade-off: right in sum and in which tiers of a cluster it crosses, not by pair.
#pragma once

#include <vector>

#include "model/model.hpp"

namespace yantra {

std::vector<ExpectedTraffic> traffic_of(const Model& model);

}  // namespace yantra
