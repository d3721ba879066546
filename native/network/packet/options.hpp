// Options: settings by name as numbers, of the network and of its congestion control.
#pragma once

#include <map>
#include <string>

#include "base/vector.hpp"
#include "network/packet/congestion_control.hpp"
#include "network/packet/settings.hpp"

namespace yantra::packet {

const Vector<SchemeOption>& network_options();

// Settings with some changed by name, of the network or the chosen congestion control. Throws
// std::invalid_argument for an unknown one, or one below its least.
void change(Settings& settings, const std::map<std::string, double>& options);

// Throws std::invalid_argument for an unknown congestion control, or one incompatible with the
// other settings.
void check_scheme(const Settings& settings);

}  // namespace yantra::packet
