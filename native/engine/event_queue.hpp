// EventQueue: the one clock and the one queue, a stable monotone radix heap.
//
// Order is total: by time, then by order of scheduling; an event scheduled for the present runs in
// the same pass, after everything already queued for it. A radix heap (Ahuja, Mehlhorn, Orlin and
// Tarjan, "Faster algorithms for the shortest path problem", JACM 1990, section 2) keeps events in
// 64 buckets by the highest bit in which their time differs from the clock. An event moves to a
// lower bucket at most 64 times, usually two or three, always by sequential copying; equal times
// stay in one bucket in their order, so stability costs nothing. The price: no event may be
// scheduled in the past, which a simulation never does.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <vector>

#include "base/ensure.hpp"
#include "base/growing.hpp"
#include "base/types.hpp"
#include "base/variant.hpp"
#include "engine/event.hpp"
#include "record/recorder.hpp"

namespace yantra::inline YANTRA_RUN {

class EventQueue {
public:
    u64 now() const { return now_; }
    u64 processed() const { return processed_ + head_; }
    bool empty() const { return head_ == present_.size() && used_ == 0; }

    void schedule(u64 time, EventKind kind, u32 index) {
        if (time == now_) {
            present_.push({time, kind, index, recorder_.trail});
            return;
        }
        ensure(time > now_, "event scheduled in the past");
        bucket_of(time).push({time, kind, index, recorder_.trail});
    }

    void schedule(u64 time, const Notice& notice) { schedule(time, notice.kind, notice.index); }

    Recorder& recorder() { return recorder_; }

    // The next event, with the clock moved to it. Precondition: not empty().
    Event next() {
        if (head_ == present_.size()) {
            advance();
        }
        return present_[head_++];
    }

    // Whether all that was scheduled up to now has been taken.
    bool tick_is_over() const { return head_ == present_.size(); }

    // What is pending, in the order in which it will come. Precondition: tick_is_over().
    std::vector<Event> pending() const {
        std::vector<Event> all;
        for (const Growing<Event>& bucket : buckets_) {
            all.insert(all.end(), bucket.begin(), bucket.end());
        }
        std::stable_sort(all.begin(), all.end(),
                         [](const Event& a, const Event& b) { return a.time < b.time; });
        return all;
    }

    // Moves the clock and all that is pending. Precondition: tick_is_over().
    void leap(u64 ticks) {
        const std::vector<Event> all = pending();
        for (Growing<Event>& bucket : buckets_) {
            bucket.clear();
        }
        used_ = 0;
        now_ += ticks;
        for (const Event& event : all) {
            schedule(event.time + ticks, event.kind, event.index);
        }
    }

private:
    Growing<Event>& bucket_of(u64 time) {
        const auto bit = static_cast<u32>(std::bit_width(time ^ now_) - 1);
        used_ |= u64{1} << bit;
        return buckets_[bit];
    }

    // Moves the clock to the earliest pending time and its events to the present list.
    [[gnu::noinline]] void advance() {
        processed_ += head_;
        present_.clear();
        head_ = 0;
        ensure(used_ != 0, "next() on an empty event queue");
        const auto lowest = static_cast<u32>(std::countr_zero(used_));
        used_ &= used_ - 1;
        Growing<Event>& bucket = buckets_[lowest];
        u64 earliest = ~u64{0};
        u64 latest = 0;
        for (const Event& event : bucket) {
            earliest = std::min(earliest, event.time);
            latest = std::max(latest, event.time);
        }
        now_ = earliest;
        if (earliest == latest) {
            present_.swap(bucket);
            return;
        }
        for (const Event& event : bucket) {
            (event.time == now_ ? present_ : bucket_of(event.time)).push(event);
        }
        bucket.clear();
    }

    [[no_unique_address]] Recorder recorder_;
    u64 now_ = 0;
    u64 processed_ = 0;   // before the present tick
    u64 used_ = 0;
    std::size_t head_ = 0;
    Growing<Event> present_;
    std::array<Growing<Event>, 64> buckets_;
};

}  // namespace yantra
