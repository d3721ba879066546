// Blocks: an array that only grows, in blocks of 65,536 items that never move. Trade-off: an access
// takes one more load than in a vector, but growth copies nothing.
#pragma once

#include <cstddef>
#include <cstdlib>
#include <memory>
#include <type_traits>
#include <vector>

#include "base/huge_pages.hpp"
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

    static constexpr std::size_t most_single = 4;

    struct GiveBack {
        void operator()(T* items) const { std::free(items); }
    };

    [[gnu::noinline]] void grow() {
        static_assert(std::is_trivially_copyable_v<T>);
        if (size_ >> bits < blocks_.size()) {
            return;
        }
        const std::size_t more = blocks_.size() < most_single ? 1 : most_single;
        const std::size_t count = more << bits;
        T* const items = HugePages<T>().allocate(count);
        owned_.emplace_back(items);
        for (std::size_t at = 0; at < more; ++at) {
            blocks_.push_back(items + (at << bits));
        }
    }

    std::vector<std::unique_ptr<T[], GiveBack>> owned_;
    std::vector<T*> blocks_;
    std::size_t size_ = 0;
};

}  // namespace yantra
