// Pool: objects addressed by a 32-bit index, freed indices used again, last freed first.
//
// Trade-off: an index costs a base-pointer load that a pointer does not, but it is half as wide,
// survives growth, and cannot dangle into unmapped memory. The free ones are a stack, of which the end
// is in a near cache; links through the free objects would be read where each of them is.
//
// An index can be read after it was given back, which is a mistake that shows when the place is used again. So debug
// builds poison what is free (base/poison.hpp).
#pragma once

#include "base/huge_pages.hpp"
#include "base/poison.hpp"
#include "base/types.hpp"

namespace yantra {

// What may be done with free objects: nothing; or they are read by who tells uses of one place apart by a number
// in it, so that they stay as they are.
enum class Freed { unreadable, readable };

template <class T, Freed freed = Freed::unreadable>
class Pool {
public:
    Pool() = default;
    Pool(const Pool&) = delete;
    Pool& operator=(const Pool&) = delete;
    ~Pool() { lift_free(); }

    u32 take(const T& item = T{}) {
        const u32 index = take_as_left();
        items_[index] = item;
        return index;
    }

    // Like take(), but what it holds is not cleared: for the caller that sets every field in place.
    // Hot paths do, because a value built on the stack and copied stalls on its own fresh stores.
    u32 take_as_left() {
        if (free_count_ == 0) [[unlikely]] {
            return grow();
        }
        const u32 index = free_[--free_count_];
        if constexpr (poisons) {
            Poison::lift(&items_[index]);
        }
        return index;
    }

    void reserve(std::size_t objects) {
        lift_free();   // they may move
        items_.reserve(objects);
        free_.reserve(objects);
        if constexpr (poisons) {
            for (u32 at = 0; at < free_count_; ++at) {
                Poison::put(&items_[free_[at]]);
            }
        }
    }
    // Objects that are taken.
    std::size_t taken() const { return items_.size() - free_count_; }
    // Whether take_as_left() will not grow the pool.
    bool has_free() const { return free_count_ > 0; }

    void give_back(u32 index) {
        if constexpr (poisons) {
            Poison::put(&items_[index]);
        }
        free_[free_count_++] = index;
    }

    T& operator[](u32 index) { return items_[index]; }
    const T& operator[](u32 index) const { return items_[index]; }

private:
    static constexpr bool poisons = Poison::is_on && freed == Freed::unreadable;

    [[gnu::noinline]] u32 grow() {
        items_.emplace_back();
        free_.push_back(none);
        return static_cast<u32>(items_.size() - 1);
    }
    void lift_free() {
        if constexpr (poisons) {
            for (u32 at = 0; at < free_count_; ++at) {
                Poison::lift(&items_[free_[at]]);
            }
        }
    }

    HugeVector<T> items_;
    HugeVector<u32> free_;   // those that are free, the last freed at the end; room for all
    u32 free_count_ = 0;
};

}  // namespace yantra
