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

#include <array>
#include <bit>
#include <utility>
#include <vector>

#include "base/ensure.hpp"
#include "base/types.hpp"

namespace yantra {

struct Event {
    u64 time;
    u32 kind;
    u32 index;
};

class EventQueue {
public:
    u64 now() const { return now_; }
    u64 processed() const { return processed_; }
    bool empty() const { return head_ == present_.size() && used_ == 0; }

    void schedule(u64 time, u32 kind, u32 index) {
        if (time == now_) {
            present_.push_back({time, kind, index});
            return;
        }
        ensure(time > now_, "event scheduled in the past");
        Bucket& bucket = bucket_of(time);
        bucket.earliest = std::min(bucket.earliest, time);
        bucket.latest = std::max(bucket.latest, time);
        bucket.events.push_back({time, kind, index});
    }

    // The next event, with the clock moved to it. Precondition: not empty().
    Event next() {
        if (head_ == present_.size()) {
            advance();
        }
        ++processed_;
        return present_[head_++];
    }

private:
    struct Bucket {
        std::vector<Event> events;
        u64 earliest = ~u64{0};
        u64 latest = 0;
    };

    Bucket& bucket_of(u64 time) {
        const auto bit = static_cast<u32>(std::bit_width(time ^ now_) - 1);
        used_ |= u64{1} << bit;
        return buckets_[bit];
    }

    // Moves the clock to the earliest pending time and its events to the present list.
    void advance() {
        present_.clear();
        head_ = 0;
        ensure(used_ != 0, "next() on an empty event queue");
        const auto lowest = static_cast<u32>(std::countr_zero(used_));
        used_ &= used_ - 1;
        Bucket& bucket = buckets_[lowest];
        now_ = bucket.earliest;
        if (bucket.earliest == bucket.latest) {
            std::swap(present_, bucket.events);
        } else {
            for (const Event& event : bucket.events) {
                if (event.time == now_) {
                    present_.push_back(event);
                } else {
                    Bucket& lower = bucket_of(event.time);
                    lower.earliest = std::min(lower.earliest, event.time);
                    lower.latest = std::max(lower.latest, event.time);
                    lower.events.push_back(event);
                }
            }
            bucket.events.clear();
        }
        bucket.earliest = ~u64{0};
        bucket.latest = 0;
    }

    u64 now_ = 0;
    u64 processed_ = 0;
    u64 used_ = 0;
    std::size_t head_ = 0;
    std::vector<Event> present_;
    std::array<Bucket, 64> buckets_;
};

}  // namespace yantra
