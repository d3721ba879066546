// Options of the packet network: its own, and what they change of a preset (network/packet/options.hpp).
//
// They are the same for a recorded run, so they are compiled once, unlike the network (CMakeLists.txt).
#pragma once

#include <map>
#include <string>

#include "base/vector.hpp"
#include "network/option.hpp"
#include "network/packet/settings.hpp"

namespace yantra {

// Asked for when all congestion controls are registered. Options of one name have one unit, whatever the scheme.
Vector<NetworkOption> packet_network_options();

// What options say, where hosts have ports of so many Gb/s. std::invalid_argument for what does not go together.
packet::Settings packet_settings_of(const std::map<std::string, double>& options, double host_gbps);

}  // namespace yantra
