// Wheel: the events of a packet simulation, in order of time and then of scheduling.
//
// A packet is two events a hop, so the queue decides how fast a run is. This is a hierarchical timing wheel
// (Varghese and Lauck, "Hashed and hierarchical timing wheels", SOSP 1987, scheme 7): five levels of 4,096 slots,
// each a list in the order of scheduling, a bit for each slot that has something. An event lies at the level of
// the highest digit in which its time differs from now, and moves down when now comes there, keeping its
// order: what is scheduled for the same slot later is behind it. Trade-off: 160 kB of slots, and an event that is
// far away is touched again at each level; in return nothing is ever compared.
#pragma once

#include <array>
#include <bit>
#include <vector>

#include "base/ensure.hpp"
#include "base/too_long.hpp"
#include "base/types.hpp"

namespace yantra::packet {

class Wheel {
public:
    struct Entry {
        u64 time = 0;
        u32 what = 0;
        u32 next = none;
    };

    u64 now() const { return now_; }
    bool empty() const { return pending_ == 0; }
    u64 processed() const { return processed_; }

    void schedule(u64 time, u32 what) {
        if (time < now_ || time >= latest_tick) [[unlikely]] {
            throw TooLong();
        }
        u32 entry = free_;
        if (entry == none) [[unlikely]] {
            entry = grow();
        } else {
            free_ = entries_[entry].next;
        }
        Entry& made = entries_[entry];
        made.time = time;
        made.what = what;
        made.next = none;
        append(entry, time);
        ++pending_;
    }

    // The next event, with the clock moved to it. Precondition: not empty().
    u32 next() {
        Slot* slot = &slots_[0][now_ & mask];
        if (slot->first == none) {
            advance();
            slot = &slots_[0][now_ & mask];
        }
        const u32 entry = slot->first;
        Entry& taken = entries_[entry];
        slot->first = taken.next;
        if (slot->first == none) {
            marks_[0].clear(static_cast<u32>(now_ & mask));
        }
        taken.next = free_;
        free_ = entry;
        --pending_;
        ++processed_;
        return taken.what;
    }

    // When the next event is. Precondition: not empty().
    u64 next_time() const {
        for (u32 level = 0; level < levels; ++level) {
            const u32 at = marks_[level].from(digit(now_, level));
            if (at == none) {
                continue;
            }
            if (level == 0) {   // a slot there is one tick, however many events are in it
                return (now_ & ~mask) | at;
            }
            u64 least = ~u64{0};
            for (u32 entry = slots_[level][at].first; entry != none; entry = entries_[entry].next) {
                least = std::min(least, entries_[entry].time);
            }
            return least;
        }
        fail("the next event of a wheel that has none");
    }

    // Moves the clock. Precondition: no event is before `time`.
    void advance_to(u64 time) {
        now_ = time;
        for (u32 level = levels - 1; level > 0; --level) {
            move_down(level, digit(time, level));
        }
    }

private:
    static constexpr u32 bits = 12;
    static constexpr u32 levels = 6;   // 72 bits, so every time has a place
    static constexpr u64 mask = (u64{1} << bits) - 1;

    struct Slot {
        u32 first = none;
        u32 last = none;
    };
    // Which of 4,096 slots have something.
    struct Marks {
        std::array<u64, 64> words{};
        u64 used = 0;

        void set(u32 at) {
            words[at >> 6] |= u64{1} << (at & 63);
            used |= u64{1} << (at >> 6);
        }
        void clear(u32 at) {
            words[at >> 6] &= ~(u64{1} << (at & 63));
            if (words[at >> 6] == 0) {
                used &= ~(u64{1} << (at >> 6));
            }
        }
        // The first from `at` on, or none.
        u32 from(u32 at) const {
            u32 word = at >> 6;
            const u64 here = words[word] & (~u64{0} << (at & 63));
            if (here != 0) {
                return word * 64 + static_cast<u32>(std::countr_zero(here));
            }
            const u64 later = word == 63 ? 0 : used & (~u64{0} << (word + 1));
            if (later == 0) {
                return none;
            }
            word = static_cast<u32>(std::countr_zero(later));
            return word * 64 + static_cast<u32>(std::countr_zero(words[word]));
        }
    };

    static u32 digit(u64 time, u32 level) {
        return level * bits >= 64 ? 0 : static_cast<u32>(time >> (level * bits) & mask);
    }

    void append(u32 entry, u64 time) {
        const u64 differs = time ^ now_;
        const u32 level = differs <= mask ? 0 : (static_cast<u32>(std::bit_width(differs)) - 1) / bits;
        const u32 at = digit(time, level);
        Slot& slot = slots_[level][at];
        if (slot.first == none) {
            slot.first = entry;
            marks_[level].set(at);
        } else {
            entries_[slot.last].next = entry;
        }
        slot.last = entry;
    }

    [[gnu::noinline]] u32 grow() {
        entries_.emplace_back();
        return static_cast<u32>(entries_.size() - 1);
    }

    // Moves the clock to the earliest pending time.
    void advance() {
        for (;;) {
            const u32 near = marks_[0].from(static_cast<u32>(now_ & mask));
            if (near != none) {
                now_ = (now_ & ~mask) | near;
                return;
            }
            u32 level = 1;
            u32 at = none;
            for (; level < levels; ++level) {
                at = marks_[level].from(digit(now_, level));
                if (at != none) {
                    break;
                }
            }
            ensure(level < levels, "next() of a wheel that has none");
            const u32 above = (level + 1) * bits;
            const u64 kept = above >= 64 ? 0 : now_ >> above << above;
            now_ = kept | u64{at} << (level * bits);
            move_down(level, at);
        }
    }

    // What lies in a slot that now is in goes to the levels below, in its order.
    void move_down(u32 level, u32 at) {
        u32 entry = slots_[level][at].first;
        if (entry == none) {
            return;
        }
        slots_[level][at].first = none;
        marks_[level].clear(at);
        while (entry != none) {
            const u32 next = entries_[entry].next;
            entries_[entry].next = none;
            append(entry, entries_[entry].time);
            entry = next;
        }
    }

    u64 now_ = 0;
    u64 pending_ = 0;
    u64 processed_ = 0;
    u32 free_ = none;
    std::vector<Entry> entries_;
    std::array<Marks, levels> marks_;
    std::array<std::array<Slot, std::size_t{1} << bits>, levels> slots_{};
};

}  // namespace yantra::packet
