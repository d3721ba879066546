// Presets: settings by name, as studies of congestion control use them, for hosts of one rate.
//
// Most are from the HPCC authors' generator of configurations (Li et al., SIGCOMM 2019, its
// published simulator, simulation/run.py): rates and marks in proportion to a host's link rate.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>

#include "base/vector.hpp"
#include "network/packet/settings.hpp"

namespace yantra::packet {

struct Preset {
    using Make = std::function<void(Settings&, double host_gbps)>;

    std::string name;
    std::string help;   // one line
    Make make = nullptr;
};

// A congestion control without a preset here gets one of its own name, with the settings of
// `Scheme::beside`.
const Vector<Preset>& presets();
// Throws std::invalid_argument for an unknown name. `host_gbps` is the rate of a host's link.
// `scheme` is another congestion control, with its own defaults, or empty; `options` are changes
// (network/packet/options.hpp).
Settings settings_of(std::string_view preset, double host_gbps, const std::string& scheme = "",
                     const std::map<std::string, double>& options = {});
// The preset of a congestion control: the first that has it, else static_window.
std::string preset_of(std::string_view scheme);

}  // namespace yantra::packet
