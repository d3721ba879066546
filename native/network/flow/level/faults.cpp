#include "network/flow/level/faults.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "network/flow/level/flows.hpp"

namespace yantra::inline YANTRA_RUN::flow {

void Faults::change_links() {
    flows_.end(all_.clock.now_ns());
    changes_.apply(all_.under_way == 0, [this](u32 link, double bytes_per_ns) {
        if (std::isfinite(all_.ways->bytes_per_ns(link))) {
            all_.sharing.set_capacity(link, bytes_per_ns, all_.flows_now_ns());
        }
    });
    for (PartId part(0); part < all_.parts.next(); part = PartId(part.index() + 1)) {
        watch(part);
    }
    all_.settle_later();
}

void Faults::watch(PartId number) {
    Part& part = all_.parts[number];
    const bool waits = part.flow != none && changes_.is_cut(all_.routes.links(part.route));
    if (waits == (part.waits_since != never)) {
        return;
    }
    Transit& transit = all_.transits[part.transit];
    if (!waits) {
        disturbance_.waited_ticks += transit.is_background() ? 0 : all_.clock.now() - part.waits_since;
        part.waits_since = never;
        return;
    }
    part.waits_since = all_.clock.now();
    disturbance_.waited += transit.has_waited || transit.is_background() ? 0 : 1;
    transit.has_waited = true;
}

void Faults::reroute() {
    changes_.becomes_known();
    all_.routes.avoid(changes_.avoided());
    for (PartId part(0); part < all_.parts.next(); part = PartId(part.index() + 1)) {
        if (all_.parts[part].flow != none && is_cut(all_.parts[part].route)) {
            take_another_way(part);
            all_.settle_later();
        }
    }
}

void Faults::take_another_way(PartId number) {
    Part& part = all_.parts[number];
    const RouteId route = all_.routes.between(part.from, part.to, part.packet);
    const u32 of_class = all_.routes[route].of_class;
    if (is_cut(route) || of_class == none) {
        return;
    }
    const bool is_sending = part.is_sending;
    all_.sending.stops(part);
    const u64 now = all_.clock.now();
    const double now_ns = all_.flows_now_ns();
    double left = 0.0;
    if (part.flow != none) {
        left = all_.sharing.stop(part.flow, now_ns);
        const u64 bytes = std::min(static_cast<u64>(std::llround(left)), part.bytes);
        all_.note_carried(part, part.bytes - bytes, now);
        all_.carried.ends(part.route, now);
        part.bytes = bytes;
    }
    all_.carried.add(part.route, -static_cast<i64>(part.bytes), 0);
    all_.carried.add(route, static_cast<i64>(part.bytes), 1);
    part.route = route;
    if (part.flow != none) {
        part.entered = now;
        flows_.holds_links(number, all_.sharing.start(of_class, std::max(left, least_bytes), now_ns));
    }
    if (is_sending) {
        all_.sending.starts(part);
    }
    watch(number);
    Transit& transit = all_.transits[part.transit];
    disturbance_.rerouted += transit.was_rerouted || transit.is_background() ? 0 : 1;
    transit.was_rerouted = true;
}

}  // namespace yantra::inline YANTRA_RUN::flow
