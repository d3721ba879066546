// Settings: what a network on chip is made of.
#pragma once

#include <string>
#include <vector>

#include "base/types.hpp"
#include "network/noc/shape.hpp"

namespace yantra::noc {

struct Settings {
    std::vector<Dimension> dimensions;
    u32 nodes_per_router = 1;
    std::string router = "input_queued";
    std::string routing = "xy";
    u32 vcs = 4;               // of each port
    u32 buffer_flits = 8;      // of each VC
    u32 packet_flits = 1;      // of the longest packet
    u32 router_cycles = 1;     // of a one_stage router
    u64 seed = 1;
};

// Throws std::invalid_argument with the reason.
void check(const Settings& settings);

}  // namespace yantra::noc
