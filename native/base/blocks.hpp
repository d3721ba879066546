// Blocks: an array that only grows, in blocks of 65,536 items that never move.
//
// Trade-off: one more load per access than a vector; but growth copies nothing and never holds two
// copies at once, which counts for arrays of gigabytes.
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "base/types.hpp"

namespace yantra {

template <class T>
class Blocks {
public:
    Blocks() = default;
    Blocks(Blocks&&) = default;
    Blocks& operator=(Blocks&&) = default;

    void push_back(const T& item) {
        if ((size_ & mask) == 0) [[unlikely]] {
            grow();
        }
        blocks_[size_ >> bits][size_ & mask] = item;
        ++size_;
    }

    T& operator[](std::size_t index) { return blocks_[index >> bits][index & mask]; }
    const T& operator[](std::size_t index) const { return blocks_[index >> bits][index & mask]; }
    std::size_t size() const { return size_; }
    u64 bytes() const { return size_ * sizeof(T); }

private:
    static constexpr u32 bits = 16;
    static constexpr std::size_t mask = (std::size_t{1} << bits) - 1;

    [[gnu::noinline]] void grow() {
        blocks_.push_back(std::make_unique_for_overwrite<T[]>(mask + 1));
    }

    std::vector<std::unique_ptr<T[]>> blocks_;
    std::size_t size_ = 0;
};

}  // namespace yantra
