// NetworkOption: what the user may set of a network.
#pragma once

#include <string>
#include <vector>

namespace yantra {

struct NetworkOption {
    std::string name;
    std::string unit;          // "ns", "GB/s", "bit/s", "B" or "" for a plain number
    double fallback = 0.0;     // NaN: none, so left out unless given
    double least = 0.0;
    std::string help;
    std::vector<std::string> choices = {};   // names of the numbers; of `fallback` too
    bool by_rate = false;      // may also be given by link rate: NAME@GBPS
};

}  // namespace yantra
