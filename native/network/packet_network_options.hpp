// Options of the packet network: its own, and changes of a preset (network/packet/options.hpp).
//
// Unlike the network, they are compiled once, as recorded runs have the same (CMakeLists.txt).
#pragma once

#include <map>
#include <string>

#include "base/vector.hpp"
#include "network/option.hpp"
#include "network/packet/settings.hpp"

namespace yantra {

// Call after all congestion controls are registered. Options of one name have one unit.
Vector<NetworkOption> packet_network_options();

// For host ports of `host_gbps` Gb/s. Throws std::invalid_argument for incompatible options.
packet::Settings packet_settings_of(const std::map<std::string, double>& options, double host_gbps);

}  // namespace yantra
