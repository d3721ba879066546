// Settings by name as numbers, of the network and its congestion control.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "network/packet/congestion_control.hpp"
#include "network/packet/settings.hpp"

namespace yantra::packet {

const std::vector<SchemeOption>& network_options();

// Throws std::invalid_argument for an unknown one, or one below its least.
void change(Settings& settings, const std::map<std::string, double>& options);

// Throws std::invalid_argument.
void check_scheme(const Settings& settings);

}  // namespace yantra::packet
