// TickLists: what happens in the near future, a list per tick (Varghese and Lauck, SOSP 1987,
// scheme 4). The price: only as many ticks as lists.
#pragma once

#include <array>
#include <utility>

#include "base/growing.hpp"
#include "base/types.hpp"
#include "engine/slot_marks.hpp"

namespace yantra {

template <class Item>
class TickLists {
public:
    static constexpr u32 tick_bits = 12;
    static constexpr u64 ticks = u64{1} << tick_bits;

    TickLists() { last_.fill(none); }

    bool empty() const { return !filled_.any(); }
    bool empty_at(u64 time) const { return last_[slot_of(time)] == none; }
    // Whether add() is a few instructions.
    bool has_room() const { return free_ != none; }
    Item& add(u64 time) {
        const u32 slot = slot_of(time);
        const u32 entry = fresh();
        Entry& made = entries_[entry];
        const u32 last = last_[slot];
        if (last == none) [[likely]] {
            made.next = entry;
            filled_.set(slot);
        } else {
            made.next = std::exchange(entries_[last].next, entry);
        }
        last_[slot] = entry;
        return made.item;
    }
    Item& add_first(u64 time) {
        const u32 before = last_[slot_of(time)];
        Item& made = add(time);
        if (before != none) {
            last_[slot_of(time)] = before;   // the one after the last is the first
        }
        return made;
    }
    [[gnu::noinline]] void make_room() {
        entries_.push({});
        free_ = static_cast<u32>(entries_.size() - 1);
    }

    // Valid until the next is added.
    const Item& take_first(u64 time) {
        const u32 slot = slot_of(time);
        const u32 last = last_[slot];
        const u32 entry = entries_[last].next;
        Entry& taken = entries_[entry];
        if (entry == last) [[likely]] {
            last_[slot] = none;
            filled_.clear(slot);
        } else {
            entries_[last].next = taken.next;
        }
        taken.next = free_;
        free_ = entry;
        return taken.item;
    }
    // Null if there is none.
    Item* last_at(u64 time) {
        const u32 last = last_[slot_of(time)];
        return last == none ? nullptr : &entries_[last].item;
    }
    const Item* first_at(u64 time) const {
        const u32 last = last_[slot_of(time)];
        return last == none ? nullptr : &entries_[entries_[last].next].item;
    }
    // Precondition: not empty().
    [[gnu::always_inline]] u64 next(u64 from) const { return from + filled_.distance(slot_of(from)); }

    template <class Visit>
    bool for_each_at(u64 time, Visit&& visit) const {
        const u32 last = last_[slot_of(time)];
        for (u32 entry = none; last != none && entry != last;) {
            entry = entries_[entry == none ? last : entry].next;
            if (!visit(entries_[entry].item)) {
                return false;
            }
        }
        return true;
    }

private:
    struct Entry {
        Item item;
        u32 next = none;   // of its tick; of the last, the first
    };

    static u32 slot_of(u64 time) { return static_cast<u32>(time) & (ticks - 1); }

    u32 fresh() {
        if (free_ == none) [[unlikely]] {
            make_room();
        }
        const u32 entry = free_;
        free_ = entries_[entry].next;
        return entry;
    }

    SlotMarks<tick_bits> filled_;
    std::array<u32, ticks> last_;   // entry of each tick
    Growing<Entry> entries_;
    u32 free_ = none;
};

}  // namespace yantra
