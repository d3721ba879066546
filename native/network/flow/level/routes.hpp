// Routes: each way that messages take once, and its class among flows.
#pragma once

#include <limits>
#include <vector>

#include "base/huge_pages.hpp"
#include "base/number_map.hpp"
#include "base/variant.hpp"
#include "network/flow/level/known_ways.hpp"
#include "network/flow/sharing.hpp"
#include "network/parameters.hpp"
#include "network/ways.hpp"

namespace yantra::inline YANTRA_RUN::flow {

struct Route {
    u32 of_class = none;   // none: it shares no link, as all are infinitely fast or go by formula
    double bytes_per_ns = std::numeric_limits<double>::infinity();   // where it is narrowest
    double alike_bytes_per_ns = std::numeric_limits<double>::infinity();   // and of each of the flows alike
};

class Routes {
public:
    Routes(const NetworkParameters& parameters, Ways& ways, FlowSharing& sharing, bool rtt_fairness,
           const LinkLoads& loads)
        : formula_groups_(parameters.formula_groups),
          ways_(ways),
          sharing_(sharing),
          rtt_fairness_(rtt_fairness),
          are_parted_(ways.by_packet() && !ways.divides()),
          loads_(loads) {}

    bool are_parted() const { return are_parted_; }
    RouteId between(u32 from, u32 to, u32 packet);
    void avoid(const std::vector<bool>& links);

    const Route& operator[](RouteId route) const { return routes_[route.index()]; }
    double latency_ns(RouteId route) const { return known_.latency_ns(route); }
    std::span<const LinkId> links(RouteId route) const { return known_.links(route); }
    template <class Visit>
    void visit(RouteId route, Visit&& visit) const {
        known_.visit(route, visit);
    }

private:
    bool goes_by_formula(u32 link) const { return !formula_groups_.empty() && formula_groups_[ways_.group(link)]; }
    RouteId known();
    void add();

    const std::vector<bool>& formula_groups_;   // by group; may be empty
    Ways& ways_;
    FlowSharing& sharing_;
    const bool rtt_fairness_;
    const bool are_parted_;
    const LinkLoads& loads_;
    KnownWays known_;
    HugeVector<Route> routes_;   // by known way
    NumberMap<RouteId> route_of_pair_;
    Way way_;                    // found last
};

}  // namespace yantra::inline YANTRA_RUN::flow
