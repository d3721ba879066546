// Options of the packet network: its own, and what they change of a preset (network/packet/options.hpp).
#pragma once

#include <map>
#include <string>
#include <vector>

#include "network/level.hpp"
#include "network/packet/settings.hpp"

namespace yantra::inline YANTRA_RUN {

// Asked for when all congestion controls are registered. Options of one name have one unit, whatever the scheme.
std::vector<NetworkOption> packet_network_options();

// What options say, where hosts have ports of so many Gb/s. std::invalid_argument for what does not go together.
packet::Settings packet_settings_of(const std::map<std::string, double>& options, double host_gbps);

}  // namespace yantra
