// Presets: settings by name, as studies of congestion control use them, for hosts of a rate.
//
// Most are those of the HPCC authors' generator of configurations (Li et al., SIGCOMM 2019, its published simulator,
// simulation/run.py): rates and marks in proportion to the rate of a host's link.
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

// All, by name. A congestion control that none of the others has gets one of its own name, with what it brings along
// (`Scheme::beside`), so it is a file and nothing else.
const Vector<Preset>& presets();
// std::invalid_argument for a name that there is not. `host_gbps` is the rate of a host's link. `scheme` is another
// congestion control, with its own defaults, or empty; `options` are changes (network/packet/options.hpp).
Settings settings_of(std::string_view preset, double host_gbps, const std::string& scheme = "",
                     const std::map<std::string, double>& options = {});
// The preset that stands for a congestion control where none is named: the first that has it, else static_window.
std::string preset_of(std::string_view scheme);

}  // namespace yantra::packet
