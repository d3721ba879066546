// ReadySet: a rank's nodes that wait for a slot, by kind, smallest position first. Nodes come
// nearly in order, to a list; late ones go to a heap.
#pragma once

#include <algorithm>
#include <bit>
#include <functional>
#include <vector>

#include "base/growing.hpp"
#include "base/types.hpp"

namespace yantra {

class ReadySet {
public:
    static constexpr u64 nobody = ~u64{0};   // its lower half is none

    explicit ReadySet(u32 slot_kinds) : slots_(slot_kinds + 1) {}

    static u64 turn_of(u32 node, u32 position) { return u64{position} << 32U | node; }

    void insert(u32 slot, u32 node) { insert(slot, node, node); }
    // Precondition: positions are distinct.
    void insert(u32 slot, u32 node, u32 position) { insert_turn(slot, turn_of(node, position)); }
    void insert_turn(u32 slot, u64 turn) {
        slots_[slot].insert(turn);
        filled_ |= bit_of(slot);
    }

    template <class Open>
    u32 take_first(Open&& open) {
        return take_before(nobody, open);
    }
    template <class Open>
    u32 take_before(u64 turn, Open&& open) {
        const std::size_t kinds = slots_.size();
        u64 best = turn;
        u32 from = none;
        for (u64 left = filled_ & ~shut_; left != 0; left &= left - 1) {
            u32 slot = lowest(left);
            do {
                const u64 first = slots_[slot].first();
                if (first < best && open(slot)) {
                    best = first;
                    from = slot;
                }
                slot += word_bits;
            } while (slot < kinds);
        }
        if (from == none) {
            return none;
        }
        slots_[from].take(best);
        if (slots_[from].first() == nobody) {
            drain(from);
        }
        return static_cast<u32>(best);
    }

    void fetch(u32 slot) const { __builtin_prefetch(&slots_[slot], 1); }
    bool empty() const { return filled_ == 0; }
    bool may_have_open() const { return (filled_ & ~shut_) != 0; }

    // A hint: `open` is false for this kind until it reopens.
    void shut(u32 slot) {
        if (slots_.size() <= word_bits) {
            shut_ |= bit_of(slot);
        }
    }
    static bool tells_open(u32 slot_kinds) { return slot_kinds < word_bits; }
    bool is_open(u32 slot) const { return (shut_ & bit_of(slot)) == 0; }
    void reopen(u32 slot) { shut_ &= ~bit_of(slot); }

    // As bits modulo 64.
    template <class Counts>
    u64 wanted(Counts&& counts) const {
        u64 slots = 0;
        for (u64 left = filled_; left != 0; left &= left - 1) {
            for (u32 slot = lowest(left); slot < slots_.size(); slot += word_bits) {
                slots |= slots_[slot].first() != nobody && counts(slot) ? bit_of(slot) : 0;
            }
        }
        return slots;
    }

    template <class Visit>
    void for_each(Visit&& visit) const {
        for (const Slot& slot : slots_) {
            slot.for_each([&visit](u64 waiting) { visit(static_cast<u32>(waiting)); });
        }
    }

    void move_on(u32 by) {
        for (Slot& slot : slots_) {
            slot.move_on(u64{by} << 32U | by);
        }
    }

private:
    static constexpr u32 word_bits = 64;

    static u64 bit_of(u32 slot) { return u64{1} << slot % word_bits; }
    static u32 lowest(u64 bits) { return static_cast<u32>(std::countr_zero(bits)); }

    void drain(u32 drained) {
        if (slots_.size() > word_bits) [[unlikely]] {
            for (u32 slot = drained % word_bits; slot < slots_.size(); slot += word_bits) {
                if (slots_[slot].first() != nobody) {
                    return;
                }
            }
        }
        filled_ &= ~bit_of(drained);
    }

    // Positions above nodes. One cache line.
    class alignas(64) Slot {
    public:
        void insert(u64 waiting) {
            first_ = std::min(first_, waiting);
            if (in_order_.empty() || waiting > in_order_.back()) {
                in_order_.push(waiting);
                return;
            }
            insert_before_the_last(waiting);
        }
        [[gnu::noinline]] void insert_before_the_last(u64 waiting) {
            if (in_order_.size() - next_ <= near || in_order_[in_order_.size() - near] < waiting) {
                insert_near_the_end(waiting);
                return;
            }
            heap_.push_back(waiting);
            std::push_heap(heap_.begin(), heap_.end(), std::greater<>());
        }
        u64 first() const { return first_; }
        void take(u64 first) {
            if (next_ < in_order_.size() && in_order_[next_] == first) {
                leave_list();
            } else {
                leave_heap();
            }
            find_first();
        }
        void move_on(u64 by) {
            for (std::size_t at = 0; at < in_order_.size(); ++at) {
                in_order_[at] += by;
            }
            for (u64& waiting : heap_) {
                waiting += by;
            }
            find_first();
        }
        template <class Visit>
        void for_each(Visit&& visit) const {
            std::for_each(in_order_.begin() + next_, in_order_.end(), visit);
            std::for_each(heap_.begin(), heap_.end(), visit);
        }

    private:
        void find_first() {
            const u64 listed = next_ < in_order_.size() ? in_order_[next_] : nobody;
            first_ = heap_.empty() ? listed : std::min(listed, heap_.front());
        }
        void leave_list() {
            if (++next_ == in_order_.size()) {
                in_order_.clear();
                next_ = 0;
            } else if (next_ >= few && u64{next_} * 2 >= in_order_.size()) {
                in_order_.drop_first(next_);
                next_ = 0;
            }
        }
        [[gnu::noinline]] void leave_heap() {
            std::pop_heap(heap_.begin(), heap_.end(), std::greater<>());
            heap_.pop_back();
        }

        void insert_near_the_end(u64 waiting) {
            std::size_t at = in_order_.size() - 1;
            in_order_.push(u64{in_order_.back()});
            for (; at > next_ && in_order_[at - 1] > waiting; --at) {
                in_order_[at] = in_order_[at - 1];
            }
            in_order_[at] = waiting;
        }

        static constexpr u32 few = 64;
        static constexpr u32 near = 16;

        u64 first_ = nobody;
        Growing<u64> in_order_;       // ascending
        std::vector<u64> heap_;
        u32 next_ = 0;   // next entry of the list
    };

    std::vector<Slot> slots_;
    u64 filled_ = 0;   // by number modulo 64: whether somebody waits for such a slot
    u64 shut_ = 0;
};

}  // namespace yantra
