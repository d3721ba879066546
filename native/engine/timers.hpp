// Timers: events that can be stopped until they come.
//
// A queue forgets nothing: the event of a stopped timer comes, and is ignored then. Trade-off: it
// occupies the queue until then. Whoever keeps the number of a timer forgets it when that comes.
#pragma once

#include <optional>

#include "base/pool.hpp"
#include "base/types.hpp"

namespace yantra {

template <class Payload>
class Timers {
public:
    // Queue an event with this number as index; `payload` is what it is for.
    u32 set(const Payload& payload) { return timers_.take({payload, false}); }

    // Whether there was one, which is forgotten.
    bool stop(u32& timer) {
        if (timer == none) {
            return false;
        }
        timers_[timer].is_stopped = true;
        timer = none;
        return true;
    }

    // What the timer of an event is for; nothing if it was stopped.
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
