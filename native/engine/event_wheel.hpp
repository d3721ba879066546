// EventWheel: the events of the near future, a list per tick.
//
// A tick's list is at the lowest bits of its number; a bitmap of two levels finds the next tick
// that has one (Varghese and Lauck, "Hashed and hierarchical timing wheels", SOSP 1987, scheme 4).
// An event costs the same however many are pending. The price: the wheel spans only as many ticks
// as it has lists; the caller keeps to that.
#pragma once

#include <array>
#include <bit>
#include <utility>

#include "base/growing.hpp"
#include "base/types.hpp"
#include "base/variant.hpp"
#include "engine/event.hpp"
#include "engine/event_lists.hpp"

namespace yantra::inline YANTRA_RUN {

class EventWheel {
public:
    static constexpr u32 tick_bits = 12;
    static constexpr u64 ticks = u64{1} << tick_bits;

    EventWheel() { last_.fill(none); }

    bool empty() const { return filled_ == 0; }
    bool empty_at(u64 time) const { return last_[slot_of(time)] == none; }

    // Rare cases are tail calls, to save no registers.
    void append(u64 time, EventKind kind, u32 index, const Trail& trail) {
        const u32 slot = slot_of(time);
        if (const u32 entry = last_[slot]; entry != none) {
            EventRun& last = entries_[entry].run;
            if (last.goes_on(kind, index)) {
                return;
            }
            if (is_listed(last, kind)) [[unlikely]] {
                return append_listed(last, index);
            }
        }
        if (free_ == none) [[unlikely]] {
            return append_fresh(time, kind, index, trail);
        }
        at_end(slot).begin(time, kind, index, trail);
    }
    // Takes over the run's list.
    void append(EventRun run) {
        const u32 slot = slot_of(run.time);
        if (last_[slot] != none) {
            EventRun& last = entries_[last_[slot]].run;
            const bool is_even = last.list == nullptr && run.list == nullptr && run.first == last.index(last.count);
            if (!is_even && run.kind_stride == 0 && is_listed(last, run.first_kind)) {
                lengthen(last, run);
                return;
            }
        }
        if (run.list != nullptr) {
            at_end(slot) = run;
            return;
        }
        append(run.time, run.first_kind, run.first, run.trail);
        if (run.count == 1) {
            return;
        }
        EventRun& last = entries_[last_[slot]].run;
        if (last.count == 1 || (last.kind_stride == run.kind_stride && last.stride == run.stride)) {
            last.kind_stride = run.kind_stride;
            last.stride = run.stride;
            last.count += run.count - 1;
            return;
        }
        run.leave_out(1);
        at_end(slot) = run;
    }

    // The rest of the run taken last.
    void put_first(const EventRun& run) {
        taken_ = nullptr;
        const u32 slot = slot_of(run.time);
        const u32 before = last_[slot];
        at_end(slot) = run;
        if (before != none) {
            last_[slot] = before;   // the one after the last is the first
        }
    }

    // Precondition: there is one. Valid until the next append, its list until the next take.
    const EventRun& take_first(u64 time) {
        if (taken_ != nullptr) [[unlikely]] {
            of_runs_.give_back(std::exchange(taken_, nullptr));
        }
        const u32 slot = slot_of(time);
        const u32 last = last_[slot];
        const u32 entry = entries_[last].next;
        Entry& taken = entries_[entry];
        if (entry == last) [[likely]] {
            last_[slot] = none;
            drain(slot);
        } else {
            entries_[last].next = taken.next;
        }
        taken.next = free_;
        free_ = entry;
        if (taken.run.list != nullptr) [[unlikely]] {
            taken_ = taken.run.list - taken.run.stride;
        }
        return taken.run;
    }

    const EventRun* first_at(u64 time) const {
        const u32 last = last_[slot_of(time)];
        return last == none ? nullptr : &entries_[entries_[last].next].run;
    }

    // Precondition: not empty().
    [[gnu::always_inline]] u64 next(u64 from) const {
        const u64 rest_of_word = filled_in_[slot_of(from) / 64] >> from % 64;
        if (rest_of_word != 0) [[likely]] {
            return from + static_cast<u32>(std::countr_zero(rest_of_word));
        }
        return next_in_others(from);
    }

    // In order until visit(run) returns false; whether it never did.
    template <class Visit>
    bool for_each_at(u64 time, Visit&& visit) const {
        const u32 last = last_[slot_of(time)];
        for (u32 entry = none; last != none && entry != last;) {
            entry = entries_[entry == none ? last : entry].next;
            if (!visit(entries_[entry].run)) {
                return false;
            }
        }
        return true;
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
    [[gnu::noinline]] u64 next_in_others(u64 from) const {
        const u32 slot = slot_of(from);
        const u64 behind = filled_ & ~u64{1} << slot / 64;
        const auto word = static_cast<u32>(std::countr_zero(behind != 0 ? behind : filled_));
        const u32 found = word * 64 + static_cast<u32>(std::countr_zero(filled_in_[word]));
        return from + ((found - slot) & (ticks - 1));
    }

    static constexpr u32 words = ticks / 64;
    static_assert(words <= 64, "one word tells which words are filled");

    struct Entry {
        EventRun run;
        u32 next = none;   // of its tick; of the last, the first
    };

    static u32 slot_of(u64 time) { return static_cast<u32>(time) & (ticks - 1); }

    void fill(u32 slot) {
        filled_in_[slot / 64] |= u64{1} << slot % 64;
        filled_ |= u64{1} << slot / 64;
    }
    void drain(u32 slot) {
        // Branchless: with one event per tick, a branch would be unpredictable.
        u64& word = filled_in_[slot / 64];
        word &= ~(u64{1} << slot % 64);
        filled_ &= ~(u64{word == 0} << slot / 64);
    }

    // Two alone do not show that more come.
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
        grow();
        at_end(slot_of(time)).begin(time, kind, index, trail);
    }
    [[gnu::noinline]] void lengthen(EventRun& last, const EventRun& run) {
        run.write_indices(listed(last, run.count) + last.count);
        last.count += run.count;
        if (run.list != nullptr) {
            of_runs_.give_back(run.list);
        }
    }

    [[gnu::noinline]] void grow() {
        entries_.push({});
        free_ = static_cast<u32>(entries_.size() - 1);
    }
    u32 fresh() {
        if (free_ == none) [[unlikely]] {
            grow();
        }
        const u32 entry = free_;
        free_ = entries_[entry].next;
        return entry;
    }

    // For the caller to fill.
    EventRun& at_end(u32 slot) {
        const u32 entry = fresh();
        Entry& made = entries_[entry];
        const u32 last = last_[slot];
        if (last == none) [[likely]] {
            made.next = entry;
            fill(slot);
        } else {
            made.next = std::exchange(entries_[last].next, entry);
        }
        last_[slot] = entry;
        return made.run;
    }

    u64 filled_ = 0;   // of these words, those that are not 0
    std::array<u64, words> filled_in_{};
    std::array<u32, ticks> last_;   // entry of each tick
    Growing<Entry> entries_;
    u32 free_ = none;
    EventLists of_runs_;
    const u32* taken_ = nullptr;   // of the run taken last
};

}  // namespace yantra
