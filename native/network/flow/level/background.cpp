#include "network/flow/level/background.hpp"

namespace yantra::inline YANTRA_RUN::flow {

void Background::schedule() {
    if (next_ < given_.size()) {
        all_.clock.schedule(given_[next_].tick, Kind::background, 0);
    }
}

void Background::wake_up() {
    rests_ = is_over_ = false;
    while (next_ < given_.size() && given_[next_].tick < all_.clock.now()) {
        ++next_;   // would have begun while there was no work
    }
    schedule();
}

void Background::start() {
    if (is_over_) {
        rests_ = true;
        return;
    }
    for (; next_ < given_.size() && given_[next_].tick <= all_.clock.now(); ++next_) {
        send(given_[next_]);
    }
    schedule();
}

void Background::send(const BackgroundFlow& flow) {
    const TransitId number = all_.transits.take();
    all_.transits[number].parts_left = flows_.parts_of(flow.bytes);
    all_.probe.sent_by_nobody(number.index());
    ++all_.under_way;
    flows_.send(number, flow.from, flow.to, flow.bytes, 0);
}

void Background::stop_if_done() {
    const std::optional<u64> done = engine_.done_at ? engine_.done_at() : std::nullopt;
    if (!done) {
        return;
    }
    is_over_ = true;
    const double done_ns = std::max(all_.clock.ns_of(*done), all_.sharing.now_ns());
    for (PartId number(0); number < all_.parts.next(); number = PartId(number.index() + 1)) {
        const Part& part = all_.parts[number];
        if (!part.is_over && all_.transits[part.transit].is_background()) {
            flows_.stop(number, done_ns, *done);
        }
    }
    all_.settle_later();
}

}  // namespace yantra::inline YANTRA_RUN::flow
