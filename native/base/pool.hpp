// Pool: objects addressed by a 32-bit index, freed indices used again, last freed first.
//
// Trade-off: an index costs a base-pointer load that a pointer does not, but it is half as wide,
// survives growth, and cannot dangle into unmapped memory. The free ones are a stack, of which the end
// is in a near cache; links through the free objects would be read where each of them is.
#pragma once

#include "base/huge_pages.hpp"
#include "base/types.hpp"

namespace yantra {

template <class T>
class Pool {
public:
    u32 take(const T& item = T{}) {
        const u32 index = take_as_left();
        items_[index] = item;
        return index;
    }

    // Like take(), but leaves what a freed item held: for the caller that sets every field in place.
    // Hot paths do, because a value built on the stack and copied stalls on its own fresh stores.
    u32 take_as_left() {
        if (free_count_ == 0) [[unlikely]] {
            return grow();
        }
        return free_[--free_count_];
    }

    void reserve(std::size_t objects) {
        items_.reserve(objects);
        free_.reserve(objects);
    }
    // Whether take_as_left() will not grow the pool.
    bool has_free() const { return free_count_ > 0; }

    void give_back(u32 index) { free_[free_count_++] = index; }

    T& operator[](u32 index) { return items_[index]; }
    const T& operator[](u32 index) const { return items_[index]; }

private:
    [[gnu::noinline]] u32 grow() {
        items_.emplace_back();
        free_.push_back(none);
        return static_cast<u32>(items_.size() - 1);
    }

    HugeVector<T> items_;
    HugeVector<u32> free_;   // those that are free, the last freed at the end; room for all
    u32 free_count_ = 0;
};

}  // namespace yantra
