#include "network/noc/routing.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include "base/ensure.hpp"

namespace yantra::noc {

namespace {

std::vector<RoutingKind>& registered_routings() {
    static std::vector<RoutingKind> all;
    return all;
}

}  // namespace

u32 dimension_order_port(const Shape& shape, const Head& head, bool keeps_direction, Rng& random) {
    const auto dimensions = static_cast<u32>(shape.dimensions().size());
    u32 dimension = 0;
    while (shape.coordinate(head.router, dimension) == shape.coordinate(head.destination, dimension)) {
        ++dimension;
        ensure(dimension < dimensions, "a head at its destination is not routed");
    }
    const u32 from = shape.coordinate(head.router, dimension);
    const u32 to = shape.coordinate(head.destination, dimension);
    if (!shape.dimensions()[dimension].wraps) {
        head.half = 0;
        return 2 * dimension + (to > from ? 0 : 1);
    }
    if (keeps_direction && head.in_port / 2 == dimension) {
        return head.in_port ^ 1u;
    }
    const u32 size = shape.dimensions()[dimension].size;
    const u32 up = to > from ? to - from : to + size - from;
    const bool is_up = 2 * up < size || (2 * up == size && random.below(2) == 0);
    head.half = is_up == (from > to) ? 1 : 0;
    return 2 * dimension + (is_up ? 0 : 1);
}

u64 half_of(u64 vcs, u32 count, u32 half) {
    const u64 upper = vcs & ~((u64{1} << (count - count / 2)) - 1);
    return half == 0 ? vcs & ~upper : upper;
}

const std::vector<RoutingKind>& routings() { return registered_routings(); }

const RoutingKind* find_routing(std::string_view name) {
    for (const RoutingKind& kind : routings()) {
        if (kind.name == name) {
            return &kind;
        }
    }
    return nullptr;
}

RegisteredRouting::RegisteredRouting(RoutingKind kind) {
    std::vector<RoutingKind>& all = registered_routings();
    const auto place = std::lower_bound(all.begin(), all.end(), kind.name,
                                        [](const RoutingKind& one, const std::string& name) { return one.name < name; });
    all.insert(place, std::move(kind));
}

}  // namespace yantra::noc
