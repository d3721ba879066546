// ReadySet: the nodes of one rank that wait for a slot, smallest position first, per slot kind.
//
// The position of a node is its own number where nobody schedules. It stands above the number in one
// word, so both orders are compared alike.
//
// Upstream walks every ready node at every completion; here a completion costs a few heap steps,
// however many nodes wait for a busy slot.
#pragma once

#include <algorithm>
#include <functional>
#include <vector>

#include "base/types.hpp"

namespace yantra {

class ReadySet {
public:
    explicit ReadySet(u32 slot_kinds) : heaps_(slot_kinds + 1) {}

    void insert(u32 slot, u32 node) { insert(slot, node, node); }
    // No two nodes have one position.
    void insert(u32 slot, u32 node, u32 position) {
        std::vector<u64>& heap = heaps_[slot];
        heap.push_back(u64{position} << 32U | node);
        std::push_heap(heap.begin(), heap.end(), std::greater<>());
        ++size_;
    }

    // Removes and returns the node of the smallest position among the slot kinds for which
    // `open(slot)`; none if there is no such node.
    template <class Open>
    u32 take_first(Open&& open) {
        if (size_ == 0) {
            return none;
        }
        u64 best = nobody;
        u32 from = 0;
        for (u32 slot = 0; slot < heaps_.size(); ++slot) {
            if (!heaps_[slot].empty() && heaps_[slot].front() < best && open(slot)) {
                best = heaps_[slot].front();
                from = slot;
            }
        }
        if (best != nobody) {
            std::pop_heap(heaps_[from].begin(), heaps_[from].end(), std::greater<>());
            heaps_[from].pop_back();
            --size_;
        }
        return static_cast<u32>(best);
    }

    bool empty() const { return size_ == 0; }

    // The slot kinds among those for which `counts(slot)` that nodes wait for, as bits of their
    // numbers modulo 64.
    template <class Counts>
    u64 wanted(Counts&& counts) const {
        u64 slots = 0;
        for (u32 slot = 0; slot < heaps_.size(); ++slot) {
            slots |= u64{!heaps_[slot].empty() && counts(slot)} << (slot % 64u);
        }
        return slots;
    }

    template <class Visit>
    void for_each(Visit&& visit) const {
        for (const std::vector<u64>& heap : heaps_) {
            for (u64 waiting : heap) {
                visit(static_cast<u32>(waiting));
            }
        }
    }

    // All nodes are those so much further on, and so are their positions.
    void move_on(u32 by) {
        for (std::vector<u64>& heap : heaps_) {
            for (u64& waiting : heap) {
                waiting += u64{by} << 32U | by;
            }
        }
    }

private:
    static constexpr u64 nobody = ~u64{0};   // its lower half is none

    std::vector<std::vector<u64>> heaps_;   // a position, and its node below it
    std::size_t size_ = 0;
};

}  // namespace yantra
