#include "network/packet/congestion_control.hpp"

#include <algorithm>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace yantra::packet {

namespace {

std::vector<Scheme>& registered_schemes() {
    static std::vector<Scheme> all;
    return all;
}

}  // namespace

RegisteredScheme::RegisteredScheme(Scheme scheme) {
    std::vector<Scheme>& all = registered_schemes();
    const auto at = std::lower_bound(all.begin(), all.end(), scheme.name,
                                     [](const Scheme& s, const std::string& name) { return s.name < name; });
    all.insert(at, std::move(scheme));
}

const std::vector<Scheme>& schemes() { return registered_schemes(); }

const Scheme* find_scheme(std::string_view name) {
    const std::vector<Scheme>& all = schemes();
    const auto found =
        std::find_if(all.begin(), all.end(), [name](const Scheme& scheme) { return scheme.name == name; });
    return found == all.end() ? nullptr : &*found;
}

const Scheme& scheme_named(std::string_view name) {
    const Scheme* const found = find_scheme(name);
    if (found == nullptr) {
        throw std::invalid_argument("no congestion control is named '" + std::string(name) + "'");
    }
    return *found;
}

}  // namespace yantra::packet
