// NetworkOption: what the user may set of a network.
#pragma once

#include <string>

#include "base/vector.hpp"

namespace yantra {

// A number that a level takes. Times are in ns and bandwidths in GB/s, which is bytes per ns.
struct NetworkOption {
    std::string name;
    std::string unit;          // "ns", "GB/s", "bit/s", "B" or "" for a plain number
    double fallback = 0.0;     // NaN: none, the option is left out unless it is given
    double least = 0.0;
    std::string help;
    Vector<std::string> choices = {};   // where the number is that of a name; `fallback` too
    bool by_rate = false;      // may be given for some rates of links, too: as NAME@GBPS
};

}  // namespace yantra
