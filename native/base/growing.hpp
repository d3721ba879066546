// Growing: an array of items copied as bytes, which only grows. Trade-off: less than std::vector,
// but push() saves no registers.
#pragma once

#include <algorithm>
#include <cstddef>
#include <memory>
#include <type_traits>
#include <utility>

#include "base/types.hpp"

namespace yantra {

template <class T>
class Growing {
    static_assert(std::is_trivially_copyable_v<T>);

public:
    Growing() = default;
    Growing(const Growing& other) { append(other.begin(), other.end()); }
    Growing(Growing&& other) noexcept { swap(other); }
    Growing& operator=(Growing other) noexcept {
        swap(other);
        return *this;
    }

    void push(const T& item) {
        if (size_ == capacity_) [[unlikely]] {
            return grow_for(item);
        }
        items_[size_++] = item;
    }

    T& grow_by_one() {
        if (size_ == capacity_) [[unlikely]] {
            grow();
        }
        return items_[size_++];
    }

    void append(const T* first, const T* last) {
        for (; first != last; ++first) {
            push(*first);
        }
    }

    void clear() { size_ = 0; }
    void drop_first(std::size_t items) {
        std::copy(begin() + items, end(), items_.get());
        size_ -= items;
    }
    void swap(Growing& other) {
        std::swap(items_, other.items_);
        std::swap(size_, other.size_);
        std::swap(capacity_, other.capacity_);
    }

    T& operator[](std::size_t index) { return items_[index]; }
    const T& operator[](std::size_t index) const { return items_[index]; }
    std::size_t size() const { return size_; }
    bool empty() const { return size_ == 0; }
    const T& back() const { return items_[size_ - 1]; }
    const T* begin() const { return items_.get(); }
    const T* end() const { return items_.get() + size_; }

private:
    [[gnu::noinline]] void grow_for(T item) {
        grow();
        items_[size_++] = item;
    }
    [[gnu::noinline]] void grow() {
        capacity_ = std::max<std::size_t>(16, 2 * capacity_);
        auto bigger = std::make_unique_for_overwrite<T[]>(capacity_);
        std::copy(begin(), end(), bigger.get());
        items_ = std::move(bigger);
    }

    std::unique_ptr<T[]> items_;
    std::size_t size_ = 0;
    std::size_t capacity_ = 0;
};

}  // namespace yantra
