// What a packet network reads of a fabric.
#pragma once

#include <vector>

#include "fabric/graph.hpp"
#include "network/packet/settings.hpp"

namespace yantra::packet {

// The n-th link between two devices has the n-th in the other direction as its way back.
// `by_formula` is by link; empty for none. Names must outlive them. Throws std::invalid_argument
// for a link without a way back or a rate.
FabricSpec spec_of(const FabricGraph& graph, const Settings& settings, const std::vector<bool>& by_formula = {});

}  // namespace yantra::packet
