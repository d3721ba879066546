// Options: settings by name as numbers, those of the network and those of its congestion control.
#pragma once

#include <map>
#include <string>

#include "base/vector.hpp"
#include "network/packet/congestion_control.hpp"
#include "network/packet/settings.hpp"

namespace yantra::packet {

// Those of the network.
const Vector<SchemeOption>& network_options();

// Settings with some of them changed, by name: of the network, or of the congestion control that is chosen.
// std::invalid_argument for one that neither has, or below its least.
void change(Settings& settings, const std::map<std::string, double>& options);

// std::invalid_argument for a congestion control that is none, or that cannot be with the other settings.
void check_scheme(const Settings& settings);

}  // namespace yantra::packet
