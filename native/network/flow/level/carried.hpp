// Carried: what links carried, and how long they were busy.
#pragma once

#include "base/ids.hpp"
#include "base/variant.hpp"
#include "network/flow/level/routes.hpp"
#include "network/network.hpp"

namespace yantra::inline YANTRA_RUN::flow {

class Carried {
public:
    Carried(const Routes& routes, u32 links)
        : routes_(routes), use_(links), divided_bytes_(links), flows_over_(links), busy_since_(links) {}

    void add(RouteId route, i64 bytes, u64 messages);
    void add_busy(RouteId route, u64 ticks) {
        for (LinkId link : routes_.links(route)) {
            use_[link].busy_ticks += ticks;
        }
    }
    void begins(RouteId route, u64 tick) {
        for (LinkId link : routes_.links(route)) {
            if (flows_over_[link]++ == 0) {
                busy_since_[link] = tick;
            }
        }
    }
    void was_alone_since(RouteId route, u64 tick) {
        for (LinkId link : routes_.links(route)) {
            busy_since_[link] = tick;
        }
    }
    void ends(RouteId route, u64 tick) {
        for (LinkId link : routes_.links(route)) {
            if (--flows_over_[link] == 0) {
                use_[link].busy_ticks += tick - busy_since_[link];
            }
        }
    }
    std::vector<LinkUse> rounded() &&;

private:
    const Routes& routes_;
    IdVector<LinkId, LinkUse> use_;
    IdVector<LinkId, double> divided_bytes_;   // of flows of which it carries a part
    IdVector<LinkId, u32> flows_over_;
    IdVector<LinkId, u64> busy_since_;
};

}  // namespace yantra::inline YANTRA_RUN::flow
