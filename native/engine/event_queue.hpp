// EventQueue: the one clock and the one queue, a stable monotone radix heap.
//
// Order is total: by time, then by order of scheduling; an event scheduled for the present runs in
// the same pass, after everything already queued for it. A radix heap (Ahuja, Mehlhorn, Orlin and
// Tarjan, "Faster algorithms for the shortest path problem", JACM 1990, section 2) keeps events in
// 64 buckets by the highest bit in which their time differs from the clock. An event moves to a
// lower bucket at most 64 times, usually two or three, always by sequential copying; equal times
// stay in one bucket in their order, so stability costs nothing. The price: no event may be
// scheduled in the past, which a simulation never does. A moment that the clock does not count is
// TooLong (base/too_long.hpp), at the latest when its turn comes.
//
// Where ranks do the same in step, events of one owner and one time follow each other, their kinds and
// indices evenly spaced. Such a run is one entry with a count: whatever comes between for that time ends
// it, so the order is that of single events, by construction. Events of two times may take turns, as
// arrivals and links that become free do. A recorded run keeps a trail per event: no runs.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <type_traits>
#include <vector>

#include "base/ensure.hpp"
#include "base/growing.hpp"
#include "base/too_long.hpp"
#include "base/types.hpp"
#include "base/variant.hpp"
#include "engine/event.hpp"
#include "record/recorder.hpp"

namespace yantra::inline YANTRA_RUN {

// The first event that is later than the clock counts.
struct TooLate : TooLong {
    explicit TooLate(const Event& late) : event(late) {}
    Event event;
};

class EventQueue {
public:
    u64 now() const { return now_; }
    u64 processed() const { return processed_; }
    bool empty() const { return head_ == present_.size() && used_ == 0; }

    void schedule(u64 time, EventKind kind, u32 index) {
        for (Newest& newest : newest_) {
            if (index == newest.next && time == newest.time && kind == newest.kind) [[likely]] {
                ++newest.entry->count;
                newest.next += newest.entry->stride;
                newest.kind = newest.kind.moved(newest.entry->kind_stride);
                return;
            }
        }
        schedule_apart(time, kind, index);
    }

    void schedule(u64 time, const Notice& notice) { schedule(time, notice.kind, notice.index); }

    Recorder& recorder() { return recorder_; }

    // The next event, with the clock moved to it. Precondition: not empty().
    Event next() {
        EventRun run = next_run();
        const Event first = run.event(0);
        if (run.count > 1) {
            put_back(run, 1);
        }
        return first;
    }

    // The same for all events of a run. Precondition: not empty().
    EventRun next_run() {
        if (head_ == present_.size()) {
            advance();
        }
        EventRun& run = present_[head_++];
        for (Newest& newest : newest_) {
            if (newest.entry == &run) {
                newest = {};
            }
        }
        processed_ += run.count;
        return run;
    }

    // Of the run that was taken last, all but the first `done` events come again.
    void put_back(EventRun run, u32 done) {
        run.first_kind = run.kind(done);
        run.first += done * run.stride;
        run.count -= done;
        processed_ -= run.count;
        present_[--head_] = run;
    }

    // Whether all that was scheduled up to now has been taken.
    bool tick_is_over() const { return head_ == present_.size(); }

    // What is pending, in the order in which it will come. Precondition: tick_is_over().
    std::vector<Event> pending() const {
        std::vector<Event> all;
        for (const Growing<EventRun>& bucket : buckets_) {
            for (const EventRun& run : bucket) {
                for (u32 at = 0; at < run.count; ++at) {
                    all.push_back(run.event(at));
                }
            }
        }
        std::stable_sort(all.begin(), all.end(),
                         [](const Event& a, const Event& b) { return a.time < b.time; });
        return all;
    }

    // Moves the clock and all that is pending. Precondition: tick_is_over().
    void leap(u64 ticks) {
        const std::vector<Event> all = pending();
        for (Growing<EventRun>& bucket : buckets_) {
            bucket.clear();
        }
        newest_ = {};
        used_ = 0;
        now_ += ticks;
        for (const Event& event : all) {
            schedule(event.time + ticks, event.kind, event.index);
        }
    }

private:
    // An entry that is the last of its time, and what would go on it. No two are of one time.
    struct Newest {
        EventRun* entry = nullptr;
        u64 time = 0;
        EventKind kind;   // none: nothing goes on it
        u32 next = none;
    };

    // Starts an entry, or makes a run of the newest one and this event.
    [[gnu::noinline]] void schedule_apart(u64 time, EventKind kind, u32 index) {
        Newest* of_time = &newest_[0];
        if (of_time->entry == nullptr || of_time->time != time) {
            of_time = &newest_[1];
        }
        EventRun* const entry = of_time->entry;
        const bool has_entry = entry != nullptr && of_time->time == time;
        if (has_entry && entry->count == 1 && kind.owner() == entry->owner()) {
            entry->count = 2;
            entry->kind_stride = kind.packed() - entry->first_kind.packed();
            entry->stride = index - entry->first;
            of_time->kind = kind.moved(entry->kind_stride);
            of_time->next = index + entry->stride;
            return;
        }
        if (time < now_) [[unlikely]] {
            not_later();
        }
        Growing<EventRun>& entries = time == now_ ? present_ : bucket_of(time);
        const EventRun* const before = entries.begin();
        entries.push({time, kind, index, 1, 0, 0, recorder_.trail});
        if constexpr (std::is_empty_v<Trail>) {
            if (entries.begin() != before && before != nullptr) [[unlikely]] {
                newest_ = {};   // one may have been there
            }
            if (!has_entry) {
                of_time = &newest_[replace_ ^= 1];
            }
            // One event has no strides yet, so whatever follows it comes back here.
            *of_time = {&entries[entries.size() - 1], time, {}, none};
        }
    }

    Growing<EventRun>& bucket_of(u64 time) {
        const auto bit = static_cast<u32>(std::bit_width(time ^ now_) - 1);
        used_ |= u64{1} << bit;
        return buckets_[bit];
    }

    // A sum of now and a duration that 64 bits do not hold comes out before now. It takes the last moment.
    [[noreturn, gnu::noinline, gnu::cold]] void not_later() const {
        if (now_ == latest_tick) {
            throw TooLong();
        }
        fail("event scheduled in the past");
    }

    // Moves the clock to the earliest pending time and its events to the present list.
    [[gnu::noinline]] void advance() {
        present_.clear();
        head_ = 0;
        newest_ = {};
        ensure(used_ != 0, "next() on an empty event queue");
        const auto lowest = static_cast<u32>(std::countr_zero(used_));
        used_ &= used_ - 1;
        Growing<EventRun>& bucket = buckets_[lowest];
        u64 earliest = ~u64{0};
        u64 latest = 0;
        for (const EventRun& event : bucket) {
            earliest = std::min(earliest, event.time);
            latest = std::max(latest, event.time);
        }
        if (earliest > latest_tick) [[unlikely]] {
            const EventRun* late = std::find_if(
                bucket.begin(), bucket.end(), [&](const EventRun& run) { return run.time == earliest; });
            throw TooLate(late->event(0));
        }
        now_ = earliest;
        if (earliest == latest) {
            present_.swap(bucket);
            return;
        }
        for (const EventRun& event : bucket) {
            (event.time == now_ ? present_ : bucket_of(event.time)).push(event);
        }
        bucket.clear();
    }

    [[no_unique_address]] Recorder recorder_;
    u64 now_ = 0;
    u64 processed_ = 0;
    u64 used_ = 0;
    std::array<Newest, 2> newest_;
    u32 replace_ = 0;   // the one of them that was written last for a time of its own
    std::size_t head_ = 0;
    Growing<EventRun> present_;
    std::array<Growing<EventRun>, 64> buckets_;
};

}  // namespace yantra
