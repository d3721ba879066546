// For tests: settings by chance, of some presets.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/test.hpp"
#include "network/packet/presets.hpp"

namespace yantra::packet {

inline Settings drawn_settings(yantra::test::Random& random, const std::vector<std::string>& presets) {
    std::map<std::string, double> options;
    if (random.one_in(3)) {
        options["acks_first"] = 1.0;
    }
    if (random.one_in(3)) {
        options["buffer"] = 600000.0;
    }
    if (random.one_in(4)) {
        options["queue"] = random.one_in(2) ? 0.0 : 2.0;
    }
    return settings_of(presets[random.below(presets.size())], 100.0, "", options);
}

}  // namespace yantra::packet
