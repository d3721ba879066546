#include "network/noc/router.hpp"

#include <algorithm>
#include <utility>
#include <vector>

namespace yantra::noc {

namespace {

std::vector<RouterKind>& registered_routers() {
    static std::vector<RouterKind> all;
    return all;
}

}  // namespace

const std::vector<RouterKind>& routers() { return registered_routers(); }

const RouterKind* find_router(std::string_view name) {
    for (const RouterKind& kind : routers()) {
        if (kind.name == name) {
            return &kind;
        }
    }
    return nullptr;
}

RegisteredRouter::RegisteredRouter(RouterKind kind) {
    std::vector<RouterKind>& all = registered_routers();
    const auto place = std::lower_bound(all.begin(), all.end(), kind.name,
                                        [](const RouterKind& one, const std::string& name) { return one.name < name; });
    all.insert(place, std::move(kind));
}

}  // namespace yantra::noc
