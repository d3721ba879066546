// EventWheel: the events of the near future (engine/event.hpp).
#pragma once

#include <utility>

#include "base/types.hpp"
#include "base/variant.hpp"
#include "engine/event.hpp"
#include "engine/event_lists.hpp"
#include "engine/tick_lists.hpp"

namespace yantra::inline YANTRA_RUN {

class EventWheel {
public:
    static constexpr u32 tick_bits = TickLists<EventRun>::tick_bits;
    static constexpr u64 ticks = TickLists<EventRun>::ticks;

    bool empty() const { return runs_.empty(); }
    bool empty_at(u64 time) const { return runs_.empty_at(time); }

    void append(u64 time, EventKind kind, u32 index, const Trail& trail) {
        if (EventRun* const last = runs_.last_at(time); last != nullptr) {
            if (last->goes_on(kind, index)) {
                return;
            }
            if (is_listed(*last, kind)) [[unlikely]] {
                return append_listed(*last, index);
            }
        }
        if (!runs_.has_room()) [[unlikely]] {
            return append_fresh(time, kind, index, trail);
        }
        runs_.add(time).begin(time, kind, index, trail);
    }
    // Takes over the run's list.
    void append(EventRun run) {
        if (EventRun* const last = runs_.last_at(run.time); last != nullptr) {
            const bool is_even = last->list == nullptr && run.list == nullptr && run.first == last->index(last->count);
            if (!is_even && run.kind_stride == 0 && is_listed(*last, run.first_kind)) {
                lengthen(*last, run);
                return;
            }
        }
        if (run.list != nullptr) {
            runs_.add(run.time) = run;
            return;
        }
        append(run.time, run.first_kind, run.first, run.trail);
        if (run.count == 1) {
            return;
        }
        EventRun& last = *runs_.last_at(run.time);
        if (last.count == 1 || (last.kind_stride == run.kind_stride && last.stride == run.stride)) {
            last.kind_stride = run.kind_stride;
            last.stride = run.stride;
            last.count += run.count - 1;
            return;
        }
        run.leave_out(1);
        runs_.add(run.time) = run;
    }

    // The rest of the run taken last.
    void put_first(const EventRun& run) {
        taken_ = nullptr;
        runs_.add_first(run.time) = run;
    }

    // Valid until the next append, its list until the next take.
    const EventRun& take_first(u64 time) {
        if (taken_ != nullptr) [[unlikely]] {
            of_runs_.give_back(std::exchange(taken_, nullptr));
        }
        const EventRun& taken = runs_.take_first(time);
        if (taken.list != nullptr) [[unlikely]] {
            taken_ = taken.list - taken.stride;
        }
        return taken;
    }

    const EventRun* first_at(u64 time) const { return runs_.first_at(time); }
    // Precondition: not empty().
    [[gnu::always_inline]] u64 next(u64 from) const { return runs_.next(from); }

    // In order until visit(run) returns false; whether it never did.
    template <class Visit>
    bool for_each_at(u64 time, Visit&& visit) const {
        return runs_.for_each_at(time, visit);
    }
    // In order within a tick.
    template <class Visit>
    void for_each(Visit&& visit) const {
        for (u64 slot = 0; slot < ticks; ++slot) {
            for_each_at(slot, [&visit](const EventRun& run) {
                visit(run);
                return true;
            });
        }
    }
    void clear() { *this = {}; }
    EventLists& lists() { return of_runs_; }

private:
    static bool is_listed(const EventRun& last, EventKind kind) {
        return last.count > 2 && last.first_kind == kind && last.kind_stride == 0 &&
               (last.list == nullptr ? last.count <= EventRun::most_made_list : last.stride == 0);
    }
    [[gnu::noinline]] u32* listed(EventRun& last, u32 more) {
        u32* list = nullptr;
        if (last.list != nullptr) {
            list = of_runs_.with_room(last.list, last.count, more);
        } else {
            list = of_runs_.take(last.count + more);
            last.write_indices(list);
            last.stride = 0;
        }
        last.list = list;
        return list;
    }
    [[gnu::noinline]] void append_listed(EventRun& last, u32 index) { listed(last, 1)[last.count++] = index; }
    [[gnu::noinline]] void append_fresh(u64 time, EventKind kind, u32 index, const Trail& trail) {
        runs_.make_room();
        runs_.add(time).begin(time, kind, index, trail);
    }
    [[gnu::noinline]] void lengthen(EventRun& last, const EventRun& run) {
        run.write_indices(listed(last, run.count) + last.count);
        last.count += run.count;
        if (run.list != nullptr) {
            of_runs_.give_back(run.list);
        }
    }

    TickLists<EventRun> runs_;
    EventLists of_runs_;
    const u32* taken_ = nullptr;   // of the run taken last
};

}  // namespace yantra
