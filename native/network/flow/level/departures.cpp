#include "network/flow/level/departures.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

namespace yantra::inline YANTRA_RUN::flow {

namespace {

// Rates are about to change.
constexpr double at_once_ns = 2.0 / 1000.0;

}  // namespace

void Departures::ask(TransitId number) {
    if (all_.transits[number].has_arrived) {
        all_.transits.give_back(number);
        return;
    }
    asking_.push_back(number);
    all_.settle_later();
}

void Departures::answer_all() {
    for (TransitId transit : asking_) {
        answer(transit);
    }
    asking_.clear();
}

void Departures::answer(TransitId number) {
    Transit& transit = all_.transits[number];
    transit.is_asking = false;
    if (transit.has_arrived) {
        all_.transits.give_back(number);
        return;
    }
    double leaves_ns = 0.0;
    for (PartId at = transit.first_part; !at.is_none(); at = all_.parts[at].next) {
        leaves_ns = std::max(leaves_ns, this->leaves_ns(all_.parts[at]));
    }
    const double now_ns = all_.clock.now_ns();
    if (leaves_ns <= now_ns + all_.clock.ns_of_ticks(1.0)) {
        all_.probe.arrives(number.index());   // it is the sender's doing, too
        depart(transit);
        all_.probe.arrival_scheduled();
    } else if (std::isfinite(leaves_ns)) {   // else when it arrives, or asks again when it begins
        transit.is_asking = true;
        if (all_.sharing.next_end_ns() <= now_ns + at_once_ns) {   // which without rounding would come before
                                                                   // the question
            leaves_ns = std::min(leaves_ns, now_ns + at_once_ns);
        }
        all_.clock.schedule(all_.clock.tick_of(leaves_ns), Kind::leaves, number.index());
    }
}

// An estimate: until its flow begins, links count as shared evenly by all sent over them, so that
// senders do not run ahead.
double Departures::leaves_ns(const Part& part) {
    if (part.is_over || part.by_formula || part.bytes == 0) {
        return 0.0;
    }
    const double latency_ns = all_.routes.latency_ns(part.route);
    if (part.flow != none) {
        return all_.sharing.end_ns(part.flow) - latency_ns;
    }
    if (part.enters_ns <= all_.clock.now_ns() && !part.is_in_line) {   // it waits for others, or comes in this tick
        return all_.sending.follows(part) ? std::numeric_limits<double>::infinity() : 0.0;
    }
    double ns_per_byte = 1.0 / all_.routes[part.route].bytes_per_ns;
    const double sent_ns = part.enters_ns - latency_ns;
    if (part.is_in_line) {   // it begins in this tick, so has not left; the next one knows more
        return std::max(sent_ns + static_cast<double>(part.bytes) * ns_per_byte,
                        all_.clock.now_ns() + all_.clock.ns_of_ticks(2.0));
    }
    for (LinkId link : all_.routes.links(part.route)) {
        ns_per_byte = std::max(ns_per_byte, all_.sending.load(link.index()));
    }
    return std::min(sent_ns + static_cast<double>(part.bytes) * ns_per_byte, part.enters_ns);   // when it is known
}

void Departures::ask_when_through(const Part& part) {
    Transit& transit = all_.transits[part.transit];
    if (!transit.departed.kind.is_none() && !std::exchange(transit.is_asking, true)) {
        const double through_ns = static_cast<double>(part.bytes) / all_.routes[part.route].bytes_per_ns;
        all_.clock.schedule(all_.clock.now() + all_.clock.ticks(through_ns), Kind::leaves, part.transit.index());
    }
}

void Departures::depart(Transit& transit) {
    if (transit.departed.kind.is_none()) {
        return;
    }
    all_.clock.schedule(std::exchange(transit.departed, {}));
    for (PartId at = transit.first_part; !at.is_none(); at = all_.parts[at].next) {
        all_.sending.stops(all_.parts[at]);
    }
}

}  // namespace yantra::inline YANTRA_RUN::flow
