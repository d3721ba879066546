// What a packet network sees of a fabric: ports with their way back, hosts and buffers.
#pragma once

#include <vector>

#include "fabric/graph.hpp"
#include "network/packet/settings.hpp"

namespace yantra::packet {

// Ranks are hosts, and all other devices switches. The way back of a link is one between the same two devices, the
// n-th of those that go there of the n-th. `by_formula` says it of each link; empty for none. Names are those of the graph, which has to outlive them. std::invalid_argument for a link that has none, or no rate.
FabricSpec spec_of(const FabricGraph& graph, const Settings& settings, const std::vector<bool>& by_formula = {});

}  // namespace yantra::packet
