// EventQueue: the clock and queue of a run: a hierarchical timing wheel (engine/event_wheel.hpp),
// by time, then by scheduling. Consecutive events of one owner and time are one entry. The price:
// nothing may be scheduled in the past; a moment beyond the clock is TooLong.
#pragma once

#include <algorithm>
#include <array>
#include <vector>

#include "base/ensure.hpp"
#include "base/too_long.hpp"
#include "base/types.hpp"
#include "base/variant.hpp"
#include "engine/event.hpp"
#include "engine/event_wheel.hpp"
#include "engine/later_levels.hpp"
#include "record/recorder.hpp"

namespace yantra::inline YANTRA_RUN {

struct TooLate : TooLong {
    explicit TooLate(const Event& late) : event(late) {}
    Event event;
};

class EventQueue {
public:
    u64 now() const { return now_; }
    u64 processed() const { return processed_; }
    bool empty() const { return wheel_.empty() && later_.empty(); }

    void schedule(u64 time, EventKind kind, u32 index) {
        if (time - now_ < near_) [[likely]] {
            wheel_.append(time, kind, index, recorder_.trail);
            return;
        }
        schedule_far(time, kind, index);
    }

    [[gnu::noinline]] void schedule(EventRun run) {
        if (run.time - now_ < near_) [[likely]] {
            wheel_.append(run);
            return;
        }
        for (u32 at = 0; at < run.count; ++at) {
            schedule_far(run.time, run.kind(at), run.index(at));
        }
        if (run.list != nullptr) {
            lists().give_back(run.list);
        }
    }
    void schedule(u64 time, const Notice& notice) { schedule(time, notice.kind, notice.index); }

    Recorder& recorder() { return recorder_; }
    EventLists& lists() { return wheel_.lists(); }

    // Moves the clock to the event. Precondition: not empty().
    Event next() {
        const EventRun run = next_run();
        if (run.count > 1) {
            put_back(run, 1);
        }
        return run.event(0);
    }

    // Copy it before scheduling; its list lasts until the next call. Precondition: not empty().
    const EventRun& next_run() {
        if (wheel_.empty_at(now_)) {
            advance();
        }
        const EventRun& run = wheel_.take_first(now_);
        processed_ += run.count;
        return run;
    }

    void put_back(EventRun run, u32 done) {
        run.leave_out(done);
        processed_ -= run.count;
        wheel_.put_first(run);
    }

    // So far.
    bool tick_is_over() const { return wheel_.empty_at(now_); }

    bool is_idle_behind_tick(u64 ticks) const {
        const u64 last = now_ + ticks;
        return ticks < near_ && last <= latest_tick && (wheel_.empty() || wheel_.next(now_ + 1) > last);
    }
    // A lower bound for the far future. Precondition: tick_is_over().
    u64 is_idle_until() const {
        u64 until = latest_tick + 1;
        if (!wheel_.empty()) {
            until = std::min(until, wheel_.next(now_));
        } else if (!later_.empty()) {
            until = std::min(until, later_.next_turn() << block_bits);
        }
        return until;
    }
    // Precondition: nothing comes until then.
    void pass(u64 ticks, u64 events) {
        processed_ += events;
        now_ += ticks;
        if (block_of(now_) > last_block()) {
            reach(block_of(now_));
        }
        if (block_of(now_) == last_block()) {
            reach(last_block() + 1);
        }
        measure_near();
    }

    // Never queued.
    void pass_event() { ++processed_; }

    bool rest_of_tick(EventKind kind, std::vector<u32>& indices) const {
        return wheel_.for_each_at(now_, [&](const EventRun& run) {
            const std::size_t before = indices.size();
            indices.resize(before + run.count);
            run.write_indices(indices.data() + before);
            return run.first_kind == kind && run.kind_stride == 0;
        });
    }
    void take_rest_of_tick() {
        while (!tick_is_over()) {
            next_run();
        }
    }

    // The clock stays. Precondition: not empty().
    u64 next_time() const {
        if (!wheel_.empty_at(now_)) {
            return now_;
        }
        return wheel_.empty() ? later_.next_time() : wheel_.next(now_);
    }

    u64 near_after(u64 time) const { return wheel_.empty() ? time : wheel_.next(time + 1); }
    const EventRun* first_at(u64 time) const { return wheel_.first_at(time); }

    // In order. Precondition: tick_is_over().
    std::vector<Event> pending() const {
        std::vector<Event> all;
        const auto add = [&all](const EventRun& run) {
            for (u32 at = 0; at < run.count; ++at) {
                all.push_back(run.event(at));
            }
        };
        wheel_.for_each(add);
        later_.for_each(add);
        std::stable_sort(all.begin(), all.end(),
                         [](const Event& a, const Event& b) { return a.time < b.time; });
        return all;
    }

    // And all that is pending. Precondition: tick_is_over().
    void leap(u64 ticks) {
        const std::vector<Event> all = pending();
        wheel_.clear();
        newest_ = {};
        now_ += ticks;
        later_.clear(block_of(now_) + 1);
        measure_near();
        for (const Event& event : all) {
            schedule(event.time + ticks, event.kind, event.index);
        }
    }

private:
    static constexpr u32 block_bits = EventWheel::tick_bits - 1;
    static constexpr u32 level_bits = 11;   // four million ticks in the lowest level
    static constexpr u32 later_bytes = 1024;   // of a block: 25 runs
    using Later = LaterLevels<EventRun, block_bits, level_bits, later_bytes>;

    struct Newest {
        u64 time = 0;
        Later::Place place;
    };

    static u64 block_of(u64 time) { return time >> block_bits; }
    u64 last_block() const { return later_.turn(); }   // that the wheel holds
    void measure_near() { near_ = ((last_block() + 1) << block_bits) - now_; }

    [[gnu::noinline]] void schedule_far(u64 time, EventKind kind, u32 index) {
        Newest* of_time = nullptr;
        for (Newest& newest : newest_) {
            if (newest.place.block != none && newest.time == time) {
                of_time = &newest;
                if (later_[newest.place].goes_on(kind, index)) {
                    return;
                }
            }
        }
        if (time < now_) [[unlikely]] {
            not_later();
        }
        const Later::Place place = later_.add(time);
        later_[place].begin(time, kind, index, recorder_.trail);
        if (of_time == nullptr) {
            of_time = &newest_[replace_ ^= 1];
        }
        *of_time = {time, place};
    }

    [[noreturn, gnu::noinline, gnu::cold]] void not_later() const {
        if (now_ == latest_tick) {
            throw TooLong();
        }
        fail("event scheduled in the past");
    }

    [[gnu::always_inline]] void advance() {
        if (!wheel_.empty()) [[likely]] {
            const u64 time = wheel_.next(now_);
            if (block_of(time) < last_block() && time <= latest_tick) [[likely]] {
                near_ -= time - now_;
                now_ = time;
                return;
            }
        }
        advance_far();
    }
    [[gnu::noinline]] void advance_far() {
        u64 from = now_;
        if (wheel_.empty()) [[unlikely]] {
            reach(block_of(later_.next_time()));
            from = last_block() << block_bits;
        }
        const u64 time = wheel_.next(from);
        if (time > latest_tick) [[unlikely]] {
            throw TooLate(wheel_.take_first(time).event(0));
        }
        now_ = time;
        if (block_of(now_) == last_block()) {
            reach(last_block() + 1);
        }
        measure_near();
    }

    // `block` becomes the wheel's last.
    void reach(u64 block) {
        if (later_.reach(block, [this](const EventRun& run) { wheel_.append(run); })) {
            newest_ = {};
        }
    }

    [[no_unique_address]] Recorder recorder_;
    u64 now_ = 0;
    u64 near_ = EventWheel::ticks;   // ticks that the wheel holds from now on
    u64 processed_ = 0;
    EventWheel wheel_;
    Later later_{1};                 // behind this block
    std::array<Newest, 2> newest_;
    u32 replace_ = 0;                // the one written last
};

}  // namespace yantra
