// Clock: the ticks of the run as the ns of flows, and the network's own events.
#pragma once

#include <algorithm>

#include "base/clock.hpp"
#include "base/variant.hpp"
#include "engine/event_queue.hpp"

namespace yantra::inline YANTRA_RUN::flow {

enum class Kind : u32 { enters, leaves, ends, settles, changes, reroutes, background, formula };

class Clock {
public:
    Clock(TimeScale scale, EventQueue& queue)
        : scale_(scale),
          ticks_per_ns_(static_cast<double>(scale.ticks_per_ns())),
          nudge_ns_(nudge_ticks / ticks_per_ns_),
          queue_(queue) {}

    u64 now() const { return queue_.now(); }
    double ns_of(u64 tick) const { return static_cast<double>(tick) / ticks_per_ns_; }
    double now_ns() const { return ns_of(now()); }
    double ns_of_ticks(double ticks) const { return ticks / ticks_per_ns_; }
    u64 ticks(double ns) const { return scale_.ticks(ns); }
    u64 moment(double ns) const { return scale_.ticks(ns + nudge_ns_); }
    u64 tick_of(double ns) const { return std::max(moment(ns), now()); }

    void schedule(u64 tick, Kind kind, u32 index) { queue_.schedule(tick, {Owner::network, kind}, index); }
    void schedule(const Notice& notice) { queue_.schedule(now(), notice); }

private:
    // Times that are whole or half ticks must not fall either way by rounding.
    static constexpr double nudge_ticks = 1.0 / 1024.0;

    TimeScale scale_;
    double ticks_per_ns_;
    double nudge_ns_;
    EventQueue& queue_;
};

}  // namespace yantra::inline YANTRA_RUN::flow
