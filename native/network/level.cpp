#include "network/level.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include "base/ensure.hpp"
#include "network/outside.hpp"

namespace yantra::inline YANTRA_RUN {

namespace {

std::vector<NetworkLevel>& registered() {
    static std::vector<NetworkLevel> levels;
    return levels;
}

}  // namespace

RegisteredNetwork::RegisteredNetwork(NetworkLevel level) {
    std::vector<NetworkLevel>& levels = registered();
    const auto at = std::lower_bound(levels.begin(), levels.end(), level.name,
                                     [](const NetworkLevel& l, const std::string& n) { return l.name < n; });
    levels.insert(at, std::move(level));
}

const std::vector<NetworkLevel>& network_levels() {
    static const std::vector<NetworkLevel> all = [] {
        std::vector<NetworkLevel> levels = registered();
        for (NetworkLevel& level : levels) {
            if (level.later_options != nullptr) {
                level.options = level.later_options();
            }
        }
        return levels;
    }();
    return all;
}

const NetworkLevel* find_network_level(std::string_view name) {
    const std::vector<NetworkLevel>& levels = network_levels();
    const auto found = std::find_if(levels.begin(), levels.end(),
                                    [name](const NetworkLevel& level) { return level.name == name; });
    return found == levels.end() ? nullptr : &*found;
}

std::unique_ptr<NetworkModel> make_network(const NetworkSetup& setup) {
    if (setup.parameters.choice.from_outside != nullptr) {
        return std::make_unique<OutsideNetwork>(setup);
    }
    const NetworkLevel* const level = find_network_level(setup.parameters.choice.level);
    ensure(level != nullptr, "a network of a level that nobody registered");
    return level->make(setup);
}

}  // namespace yantra
