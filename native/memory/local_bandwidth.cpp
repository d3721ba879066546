#include "memory/local_bandwidth.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "base/ensure.hpp"

namespace yantra::inline YANTRA_RUN {

void LocalBandwidth::begin(ActorId actor, u64 ticks, u64 bytes, EventKind done, u32 a, u32 b,
                           bool is_kernel) {
    u32 number = static_cast<u32>(works_.size());
    if (free_.empty()) {
        works_.emplace_back();
    } else {
        number = free_.back();
        free_.pop_back();
    }
    Work& work = works_[number];
    work.done = {done, a, b, engine_.recorder().trail};
    work.left = static_cast<double>(ticks);
    work.wanted = std::min(static_cast<double>(bytes) / work.left, bytes_per_tick_);
    work.speed = 1.0;
    work.end = 0;
    work.is_kernel = is_kernel;
    OfActor& of = under_way_[actor];
    advance(of);
    of.works.push_back(number);
    share(actor, of);
}

std::optional<RankEvent> LocalBandwidth::due(ActorId actor, const RankEvent& event) {
    Work& work = works_[event.a];
    if (work.generation != event.kind.kind()) {
        return std::nullopt;
    }
    OfActor& of = under_way_[actor];
    advance(of);
    const auto found = std::find(of.works.begin(), of.works.end(), event.a);
    ensure(found != of.works.end(), "local bandwidth: the end of work that never began");
    of.works.erase(found);
    work.generation = (work.generation + 1) % (1U << EventKind::kind_bits);
    free_.push_back(event.a);
    share(actor, of);
    return work.done;
}

void LocalBandwidth::advance(OfActor& of) {
    const auto passed = static_cast<double>(engine_.now() - of.at);
    for (const u32 number : of.works) {
        works_[number].left -= works_[number].speed * passed;
    }
    of.at = engine_.now();
}

void LocalBandwidth::collectives_change(ActorId actor, bool is_all_to_all, i32 by) {
    OfActor& of = under_way_[actor];
    i32& some = is_all_to_all && taken_.units_of_all_to_all >= 0.0 ? of.all_to_alls : of.collectives;
    const bool some_were = some > 0;
    some += by;
    ensure(some >= 0, "local bandwidth: a collective ends that never began");
    if (some_were != (some > 0)) {
        advance(of);
        share(actor, of);
    }
}

// Max-min: smallest demand first, the rest shares what it leaves.
void LocalBandwidth::share(ActorId actor, OfActor& of) {
    std::vector<u32> by_want = of.works;
    std::stable_sort(by_want.begin(), by_want.end(),
                     [&](u32 x, u32 y) { return works_[x].wanted < works_[y].wanted; });
    bool waiting = of.communicates() && taken_.bytes_per_tick > 0.0;   // collectives, to be served
    double left = bytes_per_tick_;
    for (std::size_t at = 0; at < by_want.size(); ++at) {
        Work& work = works_[by_want[at]];
        const auto others = static_cast<double>(by_want.size() - at);
        if (waiting && taken_.bytes_per_tick <= work.wanted) {
            left -= std::min(taken_.bytes_per_tick, left / (others + 1.0));
            waiting = false;
        }
        const double fair = left / (others + (waiting ? 1.0 : 0.0));
        work.speed = speed(work, taken_.alone ? work.wanted : fair, of);
        left -= std::min(work.wanted, fair);
    }
    for (const u32 number : of.works) {
        plan(actor, number);
    }
}

double LocalBandwidth::units_left(const OfActor& of) const {
    const double own = of.all_to_alls > 0 ? taken_.units_of_all_to_all : 0.0;
    return 1.0 - own - (of.collectives > 0 ? taken_.units : 0.0);
}

double LocalBandwidth::speed(const Work& work, double share, const OfActor& of) const {
    const double by_memory = work.wanted <= share ? 1.0 : share / work.wanted;
    const bool slowed =
        of.communicates() && work.is_kernel && work.wanted < memory_bound * bytes_per_tick_;
    return slowed ? std::min(by_memory, units_left(of)) : by_memory;
}

void LocalBandwidth::plan(ActorId actor, u32 number) {
    Work& work = works_[number];
    const double rest = std::max(std::round(work.left / work.speed), 0.0);
    const u64 delay = scale_.rounded(rest);
    if (work.end == engine_.now() + delay) {
        return;
    }
    work.end = engine_.now() + delay;
    work.generation = (work.generation + 1) % (1U << EventKind::kind_bits);
    engine_.of_ranks.schedule(actor, delay, {Owner::local_bandwidth, work.generation}, number);
}

}  // namespace yantra
