// Options of the packet network and changes of a preset (network/packet/options.hpp), compiled
// once.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "network/option.hpp"
#include "network/packet/settings.hpp"

namespace yantra {

// Call after all congestion controls are registered.
std::vector<NetworkOption> packet_network_options();

// Throws std::invalid_argument for incompatible options.
packet::Settings packet_settings_of(const std::map<std::string, double>& options, double host_gbps);

}  // namespace yantra
