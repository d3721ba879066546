// LaterLevels: what comes behind the near future, in levels of slots (hierarchical timing wheel:
// Varghese and Lauck, SOSP 1987, scheme 7); moving down keeps the order. Trade-off: an item far
// away is touched again at each level; nothing is ever compared.
#pragma once

#include <algorithm>
#include <array>
#include <bit>

#include "base/ensure.hpp"
#include "base/pool.hpp"
#include "engine/slot_marks.hpp"

namespace yantra {

template <class Item, u32 turn_bits, u32 bits, u32 block_bytes>
class LaterLevels {
public:
    // Until the next turn().
    struct Place {
        u32 block = none;
        u32 at = 0;
    };

    explicit LaterLevels(u64 turn) : turn_(turn) {}

    u64 turn() const { return turn_; }
    bool empty() const { return used_ == 0; }

    // Precondition: its turn is to come.
    Place add(u64 time) {
        const u64 differs = turn_of(time) ^ turn_;
        const u32 level = differs >> bits == 0 ? 0 : level_of(differs);
        const u32 at = digit(turn_of(time), level);
        Slot& slot = slots_[level][at];
        if (slot.first == none || blocks_[slot.last].count == Block::most) {
            add_block(level, at);
        }
        return {slot.last, blocks_[slot.last].count++};
    }
    Item& operator[](Place place) { return blocks_[place.block].items[place.at]; }

    // Precondition: not empty().
    u64 next_turn() const {
        const auto [level, at] = first_slot();
        const u32 above = (level + 1) * bits;
        return (above >= 64 ? 0 : turn_ >> above << above) | u64{at} << level * bits;
    }
    u64 next_time() const {
        const auto [level, at] = first_slot();
        u64 least = ~u64{0};
        visit_slot(level, at, [&least](const Item& item) { least = std::min(least, u64{item.time}); });
        return least;
    }

    // Precondition: nothing comes in a turn between.
    template <class Give>
    bool reach(u64 turn, Give&& give) {
        const u64 differs = turn ^ turn_;
        turn_ = turn;
        bool moves = false;
        for (u32 level = differs == 0 ? 0 : level_of(differs) + 1; level > 0; --level) {
            moves |= move_down(level - 1, give);
        }
        return moves;
    }

    void clear(u64 turn) {
        for (u32 level = 0; level < levels; ++level) {
            for (u32 at = marks_[level].from(0); at != none; at = next_slot(level, at)) {
                for (u32 number = slots_[level][at].first; number != none;) {
                    const u32 next = blocks_[number].next;
                    blocks_.give_back(number);
                    number = next;
                }
            }
            marks_[level] = {};
            slots_[level] = {};
        }
        used_ = 0;
        turn_ = turn;
    }

    // Slot by slot.
    template <class Visit>
    void for_each(Visit&& visit) const {
        for (u32 level = 0; level < levels; ++level) {
            for (u32 at = marks_[level].from(0); at != none; at = next_slot(level, at)) {
                visit_slot(level, at, visit);
            }
        }
    }
    template <class Visit>
    void for_each_next(Visit&& visit) const {
        if (const u32 at = marks_[0].from(digit(turn_, 0)); at != none) {
            visit_slot(0, at, visit);
        }
    }

private:
    using Marks = SlotMarks<bits>;
    static constexpr u32 levels = (64 - turn_bits + bits - 1) / bits;

    struct alignas(64) Block {
        static constexpr u32 most = (block_bytes - 8) / sizeof(Item);

        u32 next = none;
        u32 count = 0;
        std::array<Item, most> items;
    };
    struct Slot {
        u32 first = none;
        u32 last = none;
    };
    struct SlotAt {
        u32 level;
        u32 at;
    };

    static u64 turn_of(u64 time) { return time >> turn_bits; }
    static u32 level_of(u64 differs) { return (static_cast<u32>(std::bit_width(differs)) - 1) / bits; }
    static u32 digit(u64 turn, u32 level) { return static_cast<u32>(turn >> level * bits) & (Marks::slots - 1); }
    u32 next_slot(u32 level, u32 at) const { return at + 1 == Marks::slots ? none : marks_[level].from(at + 1); }

    SlotAt first_slot() const {
        for (u32 level = 0; level < levels; ++level) {
            if (const u32 at = marks_[level].from(digit(turn_, level)); at != none) {
                return {level, at};
            }
        }
        fail("the next event of a queue that has none");
    }

    void add_block(u32 level, u32 at) {
        const u32 made = blocks_.take_as_left();
        blocks_[made].next = none;
        blocks_[made].count = 0;
        Slot& slot = slots_[level][at];
        if (slot.first == none) {
            slot.first = made;
            marks_[level].set(at);
            ++used_;
        } else {
            blocks_[slot.last].next = made;
        }
        slot.last = made;
    }

    template <class Visit>
    void visit_slot(u32 level, u32 at, Visit&& visit) const {
        for (u32 number = slots_[level][at].first; number != none; number = blocks_[number].next) {
            const Block& block = blocks_[number];
            for (u32 i = 0; i < block.count; ++i) {
                visit(block.items[i]);
            }
        }
    }

    template <class Give>
    bool move_down(u32 level, Give&& give) {
        const u32 at = digit(turn_, level);
        u32 number = slots_[level][at].first;
        if (number == none) {
            return false;
        }
        slots_[level][at].first = none;
        marks_[level].clear(at);
        --used_;
        while (number != none) {
            const u32 count = blocks_[number].count;
            for (u32 i = 0; i < count; ++i) {
                const Item& item = blocks_[number].items[i];
                if (level == 0 || turn_of(item.time) == turn_) {
                    give(item);
                } else {
                    const Item moved = item;   // blocks may move
                    (*this)[add(moved.time)] = moved;
                }
            }
            const u32 next = blocks_[number].next;
            blocks_.give_back(number);
            number = next;
        }
        return true;
    }

    u64 turn_;
    u64 used_ = 0;   // slots
    Pool<Block> blocks_;
    std::array<Marks, levels> marks_;
    std::array<std::array<Slot, Marks::slots>, levels> slots_{};
};

}  // namespace yantra
