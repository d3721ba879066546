// Pool: objects with a 32-bit index; the last freed is reused first. Trade-off: an index costs one
// more load than a pointer, but survives growth.
#pragma once

#include "base/huge_pages.hpp"
#include "base/poison.hpp"
#include "base/types.hpp"

namespace yantra {

// `readable`: freed objects keep their contents.
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

    // take() without clearing: a value built on the stack and copied stalls on its own stores.
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
    // Which does not move while there is room.
    T* data() { return items_.data(); }
    std::size_t taken() const { return items_.size() - free_count_; }
    u32 made() const { return static_cast<u32>(items_.size()); }
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
    HugeVector<u32> free_;   // the last freed at the end; capacity for all
    u32 free_count_ = 0;
};

}  // namespace yantra
