// EventRow: events that one loop schedules, collected and put into the queue as runs.
//
// Where ranks do the same in step, a loop over them schedules evenly spaced events of one time. They are
// counted here, in registers, and the queue hears of them once. Trade-off: until flush() nothing else may
// be scheduled for their time, or it would come before them.
#pragma once

#include "base/variant.hpp"
#include "engine/event_queue.hpp"

namespace yantra::inline YANTRA_RUN {

class EventRow {
public:
    explicit EventRow(EventQueue& queue) : queue_(queue) {}
    EventRow(const EventRow&) = delete;
    EventRow& operator=(const EventRow&) = delete;

    [[gnu::always_inline]] void schedule(u64 time, EventKind kind, u32 index) {
        if (index == next_ && kind == next_kind_ && time == run_.time) [[likely]] {
            ++run_.count;
            next_ += run_.stride;
            next_kind_ = next_kind_.moved(run_.kind_stride);
            return;
        }
        if (run_.count == 1 && time == run_.time && run_.goes_on(kind, index)) {
            next_ = run_.index(2);
            next_kind_ = run_.kind(2);
            return;
        }
        flush();
        run_ = {time, kind, index, 1, 0, 0, queue_.recorder().trail};
    }

    [[gnu::always_inline]] void flush() {
        if (run_.count > 0) {
            queue_.schedule(run_);
        }
        run_.count = 0;
        next_kind_ = {};   // nothing goes on nothing
    }

private:
    EventQueue& queue_;
    EventRun run_{};
    EventKind next_kind_;   // of the event that would go on the run, once there are two
    u32 next_ = none;
};

}  // namespace yantra
