// Wheel: the clock and the events of a packet simulation, in order of time and then of scheduling:
// 4,096 ticks with a list each (engine/tick_lists.hpp), levels above (engine/later_levels.hpp).
// Trade-off: 200 kB of slots.
#pragma once

#include <algorithm>
#include <vector>

#include "base/too_long.hpp"
#include "base/types.hpp"
#include "engine/later_levels.hpp"
#include "engine/tick_lists.hpp"

namespace yantra::packet {

class Wheel {
public:
    u64 now() const { return now_; }
    bool empty() const { return pending_ == 0; }
    u64 processed() const { return processed_; }

    void schedule(u64 time, u32 what) {
        if (time < now_ || time >= latest_tick) [[unlikely]] {
            throw TooLong();
        }
        if ((time ^ now_) >> turn_bits == 0) {
            lists_.add(time) = what;
        } else {
            later_[later_.add(time)] = {time, what};
        }
        ++pending_;
    }

    struct Careless {
        void is_near(u32 /*what*/) const {}   // in this turn
        void is_far(u32 /*what*/) const {}    // in the next one that has some
    };

    // Precondition: not empty().
    u32 next() { return next(Careless{}); }
    template <class Ahead>
    u32 next(const Ahead& ahead) {
        if (lists_.empty_at(now_)) {
            advance(ahead);
        }
        --pending_;
        ++processed_;
        return lists_.take_first(now_);
    }

    bool has_more_now() const { return !lists_.empty_at(now_); }
    // Precondition: not empty().
    u64 next_time() const { return lists_.empty() ? later_.next_time() : lists_.next(now_); }
    // Precondition: no event is before `time`.
    void advance_to(u64 time) {
        now_ = time;
        reach(time >> turn_bits, Careless{});
    }

    // In order: `visit(time, what)`.
    template <class Visit>
    void for_each(Visit&& visit) const {
        for (u64 time = now_; time >> turn_bits == now_ >> turn_bits; ++time) {
            lists_.for_each_at(time, [&](u32 what) {
                visit(time, what);
                return true;
            });
        }
        std::vector<Later> later;
        later_.for_each([&later](const Later& of) { later.push_back(of); });
        std::stable_sort(later.begin(), later.end(),
                         [](const Later& one, const Later& other) { return one.time < other.time; });
        for (const Later& of : later) {
            visit(of.time, of.what);
        }
    }
    // With all that is pending; `events` count as handled.
    void leap(u64 ticks, u64 events) {
        std::vector<Later> all;
        for_each([&all](u64 time, u32 what) { all.push_back({time, what}); });
        while (!lists_.empty()) {
            lists_.take_first(lists_.next(now_));
        }
        now_ += ticks;
        later_.clear(now_ >> turn_bits);
        pending_ = 0;
        processed_ += events;
        for (const Later& of : all) {
            schedule(of.time + ticks, of.what);
        }
    }

private:
    static constexpr u32 turn_bits = TickLists<u32>::tick_bits;
    static constexpr u32 level_bits = 12;

    struct [[gnu::packed]] Later {   // so that ten are in a block
        u64 time;
        u32 what;
    };

    template <class Ahead>
    void advance(const Ahead& ahead) {
        while (lists_.empty()) {
            const u64 turn = later_.next_turn();
            now_ = turn << turn_bits;
            reach(turn, ahead);
            later_.for_each_next([&ahead](const Later& later) { ahead.is_far(later.what); });
        }
        now_ = lists_.next(now_);
    }
    template <class Ahead>
    void reach(u64 turn, const Ahead& ahead) {
        later_.reach(turn, [&](const Later& later) {
            lists_.add(later.time) = later.what;
            ahead.is_near(later.what);
        });
    }

    u64 now_ = 0;
    u64 pending_ = 0;
    u64 processed_ = 0;
    TickLists<u32> lists_;
    LaterLevels<Later, turn_bits, level_bits, 128> later_{0};
};

}  // namespace yantra::packet
