// Timers: events that can be stopped until they come. Trade-off: a stopped one occupies the queue
// until then. Whoever keeps a timer's number forgets it when that comes.
#pragma once

#include <optional>

#include "base/pool.hpp"
#include "base/types.hpp"

namespace yantra {

template <class Payload>
class Timers {
public:
    u32 set(const Payload& payload) { return timers_.take({payload, false}); }

    bool stop(u32& timer) {
        if (timer == none) {
            return false;
        }
        timers_[timer].is_stopped = true;
        timer = none;
        return true;
    }

    // Null if it was stopped.
    const Payload* running(u32 timer) const { return timers_[timer].is_stopped ? nullptr : &timers_[timer].payload; }

    // Nothing if it was stopped.
    std::optional<Payload> expire(u32 timer) {
        const Timer expired = timers_[timer];
        timers_.give_back(timer);
        return expired.is_stopped ? std::nullopt : std::optional(expired.payload);
    }

private:
    struct Timer {
        Payload payload;
        bool is_stopped = false;
    };
    Pool<Timer> timers_;
};

}  // namespace yantra
