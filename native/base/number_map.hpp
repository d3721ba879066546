// NumberMap: from 64-bit numbers to small values, by open addressing (removal: Knuth, "The Art of
// Computer Programming", volume 3, section 6.4, algorithm R). Trade-off: one number cannot be a
// key, and values move.
#pragma once

#include <bit>
#include <utility>

#include "base/ensure.hpp"
#include "base/hash.hpp"
#include "base/huge_pages.hpp"
#include "base/types.hpp"

namespace yantra {

template <class Value>
class NumberMap {
public:
    static constexpr u64 no_key = ~u64{0};

    std::size_t size() const { return size_; }
    // Null if absent; valid until the map changes.
    Value* find(u64 key) {
        if (size_ == 0) {
            return nullptr;
        }
        Slot& slot = slots_[slot_of(key)];
        return slot.key == key ? &slot.value : nullptr;
    }
    // Precondition: the key is absent.
    void add(u64 key, const Value& value) {
        ensure(key != no_key, "a key that stands for none");
        if (2 * (size_ + 1) > slots_.size()) {
            grow();
        }
        slots_[slot_of(key)] = {key, value};
        ++size_;
    }
    // Precondition: the key is present.
    void erase(u64 key) {
        std::size_t gap = slot_of(key);
        for (std::size_t at = next(gap); slots_[at].key != no_key; at = next(at)) {
            const std::size_t own = first_slot(slots_[at].key);
            if (((at - own) & mask()) >= ((at - gap) & mask())) {   // it may move that far back
                slots_[std::exchange(gap, at)] = slots_[at];
            }
        }
        slots_[gap] = {};
        --size_;
    }
    void clear() {
        slots_ = {};
        size_ = 0;
    }

private:
    struct Slot {
        u64 key = no_key;
        Value value{};
    };
    static constexpr std::size_t least = 16;   // slots

    std::size_t mask() const { return slots_.size() - 1; }
    std::size_t next(std::size_t slot) const { return (slot + 1) & mask(); }
    std::size_t first_slot(u64 key) const {
        return static_cast<std::size_t>(mix(0, key) >> (std::countl_zero(static_cast<u64>(mask()))));
    }
    // Precondition: there are slots.
    std::size_t slot_of(u64 key) const {
        std::size_t at = first_slot(key);
        while (slots_[at].key != key && slots_[at].key != no_key) {
            at = next(at);
        }
        return at;
    }
    [[gnu::noinline]] void grow() {
        HugeVector<Slot> before(slots_.empty() ? least : 2 * slots_.size());
        before.swap(slots_);
        for (const Slot& slot : before) {
            if (slot.key != no_key) {
                slots_[slot_of(slot.key)] = slot;
            }
        }
    }

    HugeVector<Slot> slots_;
    std::size_t size_ = 0;
};

}  // namespace yantra
