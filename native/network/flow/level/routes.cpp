#include "network/flow/level/routes.hpp"

#include <algorithm>
#include <cmath>

#include "network/formula_tiers.hpp"

namespace yantra::inline YANTRA_RUN::flow {

RouteId Routes::between(u32 from, u32 to, u32 packet) {
    if (are_parted_ || ways_.by_load()) {
        ways_.find(from, to, packet, &loads_, way_);
        return known();
    }
    const u64 pair = u64{from} << 32U | to;
    if (const RouteId* const found = route_of_pair_.find(pair)) {
        return *found;
    }
    ways_.find(from, to, 0, &loads_, way_);
    const RouteId route = known();
    route_of_pair_.add(pair, route);
    return route;
}

void Routes::avoid(const std::vector<bool>& links) {
    ways_.avoid(links);
    route_of_pair_.clear();
}

RouteId Routes::known() {
    const RouteId id = known_.id(way_);
    if (id.index() == routes_.size()) {
        add();
    }
    return id;
}

void Routes::add() {
    Route route;
    std::vector<u32> links;
    std::vector<double> shares;
    double shared_bytes_per_ns = std::numeric_limits<double>::infinity();
    for (std::size_t at = 0; at < way_.links.size(); ++at) {
        const u32 link = way_.links[at];
        const Way::Part part = way_.part(at);
        const double rate = ways_.bytes_per_ns(link) / part.carried;
        route.bytes_per_ns = std::min(route.bytes_per_ns, rate);
        route.alike_bytes_per_ns = std::min(route.alike_bytes_per_ns, ways_.bytes_per_ns(link) / part.shared);
        if (std::isfinite(rate) && !goes_by_formula(link)) {
            links.push_back(link);
            shares.push_back(part.shared);
            shared_bytes_per_ns = std::min(shared_bytes_per_ns, rate);
        }
    }
    if (!links.empty()) {
        if (route.bytes_per_ns < shared_bytes_per_ns) {
            FormulaTiers::refuse();
        }
        const bool weighs = rtt_fairness_ && way_.latency_ns > 0.0;
        route.of_class = sharing_.add_class(links, weighs ? 0.5 / way_.latency_ns : 1.0, shares);
    }
    routes_.push_back(route);
}

}  // namespace yantra::inline YANTRA_RUN::flow
