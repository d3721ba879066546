// Wheel: the events of a packet simulation, in order of time and then of scheduling.
//
// A packet is two events a hop, so the queue decides how fast a run is. This is a hierarchical timing wheel
// (Varghese and Lauck, "Hashed and hierarchical timing wheels", SOSP 1987, scheme 7): levels of 4,096 slots, a bit for
// each slot that has something. An event lies at the level of the highest digit in which its time differs from now, and
// moves down when now comes there, keeping its order: what is scheduled for the same slot later is behind it. In the
// lowest level, a slot is a tick and has a list; in those above, events lie side by side in blocks, as with a million
// flows a list would be a miss of the cache for each. Who handles events is told of them when their slot comes
// near, so it can fetch what they need. Trade-off: 200 kB of slots, 128 bytes for a slot with one event, and an event
// that is far away is touched again at each level; in return nothing is ever compared.
#pragma once

#include <algorithm>
#include <array>
#include <bit>

#include "base/ensure.hpp"
#include "base/pool.hpp"
#include "base/too_long.hpp"
#include "base/types.hpp"

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
        place(time, what);
        ++pending_;
    }

    // Who is told of events ahead of their time, so what they need is in the cache by then.
    struct Careless {
        void is_near(u32 /*what*/) const {}   // in a turn of the lowest level
        void is_far(u32 /*what*/) const {}    // in the one after it
    };

    // The next event, with the clock moved to it. Precondition: not empty().
    u32 next() { return next(Careless{}); }
    template <class Ahead>
    u32 next(const Ahead& ahead) {
        Slot* slot = &slots_[0][now_ & mask];
        if (slot->first == none) {
            advance(ahead);
            slot = &slots_[0][now_ & mask];
        }
        const u32 entry = slot->first;
        const Entry taken = entries_[entry];
        slot->first = taken.next;
        if (slot->first == none) {
            marks_[0].clear(static_cast<u32>(now_ & mask));
        }
        entries_.give_back(entry);
        --pending_;
        ++processed_;
        return taken.what;
    }

    // Whether there is another event of now.
    bool has_more_now() const { return slots_[0][now_ & mask].first != none; }

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
            for_each(level, at, [&least](u64 time, u32 /*what*/) { least = std::min(least, time); });
            return least;
        }
        fail("the next event of a wheel that has none");
    }

    // Moves the clock. Precondition: no event is before `time`.
    void advance_to(u64 time) {
        now_ = time;
        for (u32 level = levels - 1; level > 0; --level) {
            move_down(level, digit(time, level), Careless{});
        }
    }

private:
    static constexpr u32 bits = 12;
    static constexpr u32 levels = 6;   // 72 bits, so every time has a place
    static constexpr u64 mask = (u64{1} << bits) - 1;

    // Of the lowest level.
    struct Entry {
        u32 what = 0;
        u32 next = none;
    };
    // Of the others; two lines of the cache.
    struct alignas(64) Block {
        static constexpr u32 most = 10;

        u32 next = none;
        u32 count = 0;
        std::array<u64, most> time;
        std::array<u32, most> what;
    };
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

    void place(u64 time, u32 what) {
        const u64 differs = time ^ now_;
        if (differs <= mask) {
            append(static_cast<u32>(time & mask), what);
            return;
        }
        // Most are in the second level, so it is found without looking for the digit.
        const bool is_second = differs >> 2 * bits == 0;
        const u32 level = is_second ? 1 : (static_cast<u32>(std::bit_width(differs)) - 1) / bits;
        set_down(level, is_second ? static_cast<u32>(time >> bits & mask) : digit(time, level), time, what);
    }

    // In a slot above the lowest level.
    void set_down(u32 level, u32 at, u64 time, u32 what) {
        Slot& slot = slots_[level][at];
        if (slot.first == none || blocks_[slot.last].count == Block::most) {
            add_block(level, at);
        }
        Block& block = blocks_[slot.last];
        block.time[block.count] = time;
        block.what[block.count++] = what;
    }

    // To the list of a tick.
    void append(u32 at, u32 what) {
        const u32 entry = entries_.take_as_left();
        entries_[entry] = {what, none};
        Slot& slot = slots_[0][at];
        if (slot.first == none) {
            slot.first = entry;
            marks_[0].set(at);
        } else {
            entries_[slot.last].next = entry;
        }
        slot.last = entry;
    }

    void add_block(u32 level, u32 at) {
        const u32 made = blocks_.take_as_left();
        blocks_[made].next = none;
        blocks_[made].count = 0;
        Slot& slot = slots_[level][at];
        if (slot.first == none) {
            slot.first = made;
            marks_[level].set(at);
        } else {
            blocks_[slot.last].next = made;
        }
        slot.last = made;
    }

    // What is in a slot above the lowest level, in its order.
    template <class Visit>
    void for_each(u32 level, u32 at, Visit&& visit) const {
        for (u32 number = slots_[level][at].first; number != none; number = blocks_[number].next) {
            const Block& block = blocks_[number];
            for (u32 i = 0; i < block.count; ++i) {
                visit(block.time[i], block.what[i]);
            }
        }
    }

    // Moves the clock to the earliest pending time.
    template <class Ahead>
    void advance(const Ahead& ahead) {
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
            move_down(level, at, ahead);
        }
    }

    // What lies in a slot that now is in goes to the levels below, in its order.
    template <class Ahead>
    void move_down(u32 level, u32 at, const Ahead& ahead) {
        u32 number = slots_[level][at].first;
        if (number == none) {
            return;
        }
        slots_[level][at].first = none;
        marks_[level].clear(at);
        while (number != none) {
            const u32 count = blocks_[number].count;
            for (u32 i = 0; i < count; ++i) {   // a place of its own at each turn: blocks may move
                const u64 time = blocks_[number].time[i];
                const u32 what = blocks_[number].what[i];
                if (level == 1) {
                    append(static_cast<u32>(time & mask), what);
                    ahead.is_near(what);
                } else {
                    place(time, what);
                }
            }
            const u32 next = blocks_[number].next;
            blocks_.give_back(number);
            number = next;
        }
        if (level == 1) {
            const u32 later = marks_[1].from(at);   // `at` itself is empty by now
            if (later != none) {
                for_each(1, later, [&ahead](u64 /*time*/, u32 what) { ahead.is_far(what); });
            }
        }
    }

    u64 now_ = 0;
    u64 pending_ = 0;
    u64 processed_ = 0;
    Pool<Entry> entries_;
    Pool<Block> blocks_;
    std::array<Marks, levels> marks_;
    std::array<std::array<Slot, std::size_t{1} << bits>, levels> slots_{};
};

}  // namespace yantra::packet
