#include "serving/routing.hpp"

#include <algorithm>
#include <utility>

namespace yantra::serving {

namespace {

std::vector<RoutingKind>& all_routings() {
    static std::vector<RoutingKind> all;
    return all;
}

}  // namespace

const std::vector<RoutingKind>& routing_kinds() { return all_routings(); }

const RoutingKind* find_routing(std::string_view name) {
    const auto& all = all_routings();
    const auto found = std::find_if(all.begin(), all.end(), [&](const RoutingKind& of) { return of.name == name; });
    return found == all.end() ? nullptr : &*found;
}

RegisteredRouting::RegisteredRouting(RoutingKind kind) {
    auto& all = all_routings();
    all.push_back(std::move(kind));
    for (std::size_t at = all.size() - 1; at > 0 && all[at].name < all[at - 1].name; --at) {
        std::swap(all[at], all[at - 1]);
    }
}

}  // namespace yantra::serving
