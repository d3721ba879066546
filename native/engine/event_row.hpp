// EventRow: events that one loop schedules, queued as runs. Trade-off: until flush() nothing else
// may be scheduled for that time, or it would come first.
#pragma once

#include <type_traits>

#include "base/variant.hpp"
#include "engine/event_queue.hpp"

namespace yantra::inline YANTRA_RUN {

class EventRow {
public:
    // Precondition: at most `most` events are scheduled.
    EventRow(EventQueue& queue, u32 most) : queue_(queue), most_(most) {}
    EventRow(const EventRow&) = delete;
    EventRow& operator=(const EventRow&) = delete;

    [[gnu::always_inline]] void schedule(u64 time, EventKind kind, u32 index) {
        if (index == next_ && kind == next_kind_ && time == run_.time) [[likely]] {
            ++run_.count;
            next_ += run_.stride;
            next_kind_ = next_kind_.moved(run_.kind_stride);
            return;
        }
        if (list_ != nullptr && kind == run_.first_kind && time == run_.time) [[likely]] {
            list_[run_.count++] = index;
            return;
        }
        begin(time, kind, index);
    }

    [[gnu::always_inline]] void flush() {
        if (run_.count > 0) {
            run_.list = list_;
            queue_.schedule(run_);
        }
        run_.count = 0;
        run_.list = nullptr;
        list_ = nullptr;
        next_kind_ = {};   // nothing continues nothing
    }

private:
    [[gnu::noinline]] void begin(u64 time, EventKind kind, u32 index) {
        if (run_.count == 1 && time == run_.time && list_ == nullptr && run_.goes_on(kind, index)) {
            next_ = run_.index(2);
            next_kind_ = run_.kind(2);
            return;
        }
        if (std::is_empty_v<Trail> && run_.count > 1 && run_.count <= EventRun::most_made_list && list_ == nullptr && time == run_.time &&
            kind == run_.first_kind && run_.kind_stride == 0) {
            list_ = queue_.lists().take(most_);
            run_.write_indices(list_);
            list_[run_.count++] = index;
            run_.stride = 0;
            next_kind_ = {};
            return;
        }
        flush();
        run_.begin(time, kind, index, queue_.recorder().trail);
    }

    EventQueue& queue_;
    const u32 most_;
    u32* list_ = nullptr;
    EventRun run_{};
    EventKind next_kind_;   // of the event that would continue the run, once it has two
    u32 next_ = none;
};

}  // namespace yantra
