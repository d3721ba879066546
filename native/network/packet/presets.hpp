// Presets: settings by name, for hosts of one rate, mostly from the HPCC authors' generator (Li et
// al., SIGCOMM 2019, simulation/run.py).
#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "network/packet/settings.hpp"

namespace yantra::packet {

struct Preset {
    using Make = std::function<void(Settings&, double host_gbps)>;

    std::string name;
    std::string help;   // one line
    Make make = nullptr;
};

// A congestion control without a preset has one of its own name (`Scheme::beside`).
const std::vector<Preset>& presets();
// `scheme` is another congestion control, or empty; `options` are changes
// (network/packet/options.hpp). Throws std::invalid_argument for an unknown name.
Settings settings_of(std::string_view preset, double host_gbps, const std::string& scheme = "",
                     const std::map<std::string, double>& options = {});
// The first that has it, else static_window.
std::string preset_of(std::string_view scheme);

}  // namespace yantra::packet
