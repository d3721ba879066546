#include "network/flow/level/sending.hpp"

#include <utility>

#include "base/hash.hpp"

namespace yantra::inline YANTRA_RUN::flow {

u64 Sending::line_of(const Part& part) const {
    const u64 pair = mix(u64{part.from} << 32U | part.to, part.packet);
    return (in_order_ ? pair : mix(pair, part.order >> 32U)) >> 1U;   // which avoids the reserved key
}

void Sending::count(Part& part, bool is_sending) {
    if (std::exchange(part.is_sending, is_sending) == is_sending) {
        return;
    }
    const RouteId route = follows(part) ? changes_line(part, is_sending) : part.route;
    if (!route.is_none()) {
        routes_.visit(route, [&](LinkId link, const Way::Part& of) {
            over_[link] += is_sending ? of.shared : -of.shared;
        });
    }
}

// It stops where it started, even after reroutes.
RouteId Sending::changes_line(const Part& part, bool is_sending) {
    const u64 key = line_of(part);
    Sent* const sent = in_line_.find(key);
    if (is_sending && sent == nullptr) {
        in_line_.add(key, {1, part.route});
        return part.route;
    }
    sent->count += is_sending ? 1 : -1;
    if (sent->count > 0) {
        return RouteId::none;
    }
    const RouteId route = sent->route;
    in_line_.erase(key);
    return route;
}

}  // namespace yantra::inline YANTRA_RUN::flow
