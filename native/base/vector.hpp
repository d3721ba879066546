// Vector: std::vector at a quarter of its compile time.
//
// std::vector's layers (allocators, traits, iterator classes) were a third of what the compiler
// read of the core. This one is three pointers and few functions, and moves plain items as bytes
// (docs/decisions/0026-a-vector-of-its-own.md).
//
// Trade-off: a place (HugePages) instead of allocators, pointers as iterators, and an exception
// during a change leaves valid items but not the former ones. A vector of bools stays a
// std::vector.
#pragma once

#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <initializer_list>
#include <iterator>
#include <new>
#include <stdexcept>
#include <type_traits>
#include <utility>

namespace yantra {

namespace vectors {

inline void* aligned_room(std::size_t bytes, std::size_t alignment) {
    return std::aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment);
}

struct Heap {
    static void* room(std::size_t bytes, std::size_t alignment) {
        return alignment <= alignof(std::max_align_t) ? std::malloc(bytes) : aligned_room(bytes, alignment);
    }
};

// Errors: std::bad_alloc if too large.
inline std::size_t bytes_of(std::size_t items, std::size_t size) {
    if (items > static_cast<std::size_t>(-1) / 2 / size) {
        throw std::bad_alloc();
    }
    return items * size;
}

inline void* there(void* room) {
    if (room == nullptr) {
        throw std::bad_alloc();
    }
    return room;
}

// Freed unless taken.
struct Room {
    void* bytes;
    ~Room() { std::free(bytes); }
};

[[noreturn, gnu::noinline, gnu::cold]] inline void refuse_index() {
    throw std::out_of_range("an index beyond the end of a vector");
}

}  // namespace vectors

template <class T, class Place = vectors::Heap>
class Vector {
    static_assert(!std::is_same_v<T, bool>, "std::vector<bool> keeps a bool in a bit");

public:
    using value_type = T;
    using size_type = std::size_t;
    using difference_type = std::ptrdiff_t;
    using reference = T&;
    using const_reference = const T&;
    using iterator = T*;
    using const_iterator = const T*;

    Vector() = default;
    explicit Vector(std::size_t size) : Vector() { resize(size); }
    Vector(std::size_t size, const T& value) : Vector() { resize(size, value); }
    Vector(std::initializer_list<T> items) : Vector() { append(items.begin(), items.end()); }
    template <class From>
        requires requires(From at) { *at; }
    Vector(From first, From last) : Vector() {
        append(first, last);
    }
    Vector(const Vector& other) : Vector() { append(other.begin_, other.end_); }
    Vector(Vector&& other) noexcept
        : begin_(std::exchange(other.begin_, nullptr)),
          end_(std::exchange(other.end_, nullptr)),
          room_(std::exchange(other.room_, nullptr)) {}
    Vector& operator=(const Vector& other) {
        if (this != &other) {
            assign(other.begin_, other.end_);
        }
        return *this;
    }
    Vector& operator=(Vector&& other) noexcept {
        if (this != &other) {
            Vector old(std::move(*this));
            swap(other);
        }
        return *this;
    }
    Vector& operator=(std::initializer_list<T> items) {
        assign(items.begin(), items.end());
        return *this;
    }
    ~Vector() {
        clear();
        std::free(begin_);
    }

    T* begin() { return begin_; }
    T* end() { return end_; }
    T* data() { return begin_; }
    const T* begin() const { return begin_; }
    const T* end() const { return end_; }
    const T* cbegin() const { return begin_; }
    const T* cend() const { return end_; }
    const T* data() const { return begin_; }
    auto rbegin() { return std::reverse_iterator<T*>(end_); }
    auto rend() { return std::reverse_iterator<T*>(begin_); }
    auto rbegin() const { return std::reverse_iterator<const T*>(end_); }
    auto rend() const { return std::reverse_iterator<const T*>(begin_); }
    std::size_t size() const { return static_cast<std::size_t>(end_ - begin_); }
    std::size_t capacity() const { return static_cast<std::size_t>(room_ - begin_); }
    bool empty() const { return begin_ == end_; }

    T& operator[](std::size_t index) { return begin_[index]; }
    const T& operator[](std::size_t index) const { return begin_[index]; }
    T& at(std::size_t index) {
        if (index >= size()) {
            vectors::refuse_index();
        }
        return begin_[index];
    }
    const T& at(std::size_t index) const { return const_cast<Vector*>(this)->at(index); }
    T& front() { return *begin_; }
    T& back() { return end_[-1]; }
    const T& front() const { return *begin_; }
    const T& back() const { return end_[-1]; }

    void swap(Vector& other) noexcept {
        std::swap(begin_, other.begin_);
        std::swap(end_, other.end_);
        std::swap(room_, other.room_);
    }
    void reserve(std::size_t size) {
        if (size > capacity()) {
            grow(size);
        }
    }
    void clear() { drop(begin_); }
    [[gnu::noinline]] void resize(std::size_t size) {
        if (size <= this->size()) {
            return drop(begin_ + size);
        }
        reserve_more(size - this->size());
        T* const end = begin_ + size;
        if constexpr (std::is_trivially_default_constructible_v<T> && is_bytes()) {
            std::memset(static_cast<void*>(end_), 0, static_cast<std::size_t>(end - end_) * sizeof(T));
            end_ = end;
        } else {
            for (; end_ != end; ++end_) {
                new (static_cast<void*>(end_)) T();
            }
        }
    }
    [[gnu::noinline]] void resize(std::size_t size, const T& value) {
        if (size <= this->size()) {
            return drop(begin_ + size);
        }
        if (size > capacity()) {
            const T kept(value);   // which may be an item that moves
            grow_to(size);
            return fill(begin_ + size, kept);
        }
        fill(begin_ + size, value);
    }
    void assign(std::size_t size, const T& value) {
        const T kept(value);
        clear();
        resize(size, kept);
    }
    template <class From>
        requires requires(From at) { *at; }
    void assign(From first, From last) {
        clear();
        append(first, last);
    }
    void assign(std::initializer_list<T> items) { assign(items.begin(), items.end()); }

    template <class... Given>
    T& emplace_back(Given&&... given) {
        if (end_ == room_) [[unlikely]] {
            return emplace_grown(std::forward<Given>(given)...);
        }
        T* const made = new (static_cast<void*>(end_)) T(std::forward<Given>(given)...);
        ++end_;   // only after construction, which may throw
        return *made;
    }
    void push_back(const T& item) { emplace_back(item); }
    void push_back(T&& item) { emplace_back(std::move(item)); }
    void pop_back() { (--end_)->~T(); }

    // Returns the first new item. A range must not be from this vector; a single item may.
    T* insert(const T* at, const T& item) { return emplace(at, item); }
    T* insert(const T* at, T&& item) { return emplace(at, std::move(item)); }
    template <class... Given>
    T* emplace(const T* at, Given&&... given) {
        const std::size_t index = static_cast<std::size_t>(at - begin_);
        emplace_back(std::forward<Given>(given)...);
        T* const place = begin_ + index;
        if constexpr (is_bytes()) {
            alignas(T) std::byte kept[sizeof(T)];
            std::memcpy(kept, static_cast<const void*>(end_ - 1), sizeof(T));
            std::memmove(static_cast<void*>(place + 1), static_cast<const void*>(place),
                         static_cast<std::size_t>(end_ - 1 - place) * sizeof(T));
            std::memcpy(static_cast<void*>(place), kept, sizeof(T));
        } else {
            for (T* last = end_ - 1; last != place; --last) {
                std::swap(*last, last[-1]);
            }
        }
        return place;
    }
    template <class From>
        requires requires(From from) { *from; }
    T* insert(const T* at, From first, From last) {
        const std::size_t index = static_cast<std::size_t>(at - begin_);
        Vector behind;
        behind.append_moved(begin_ + index, end_);
        drop(begin_ + index);
        append(first, last);
        append_moved(behind.begin_, behind.end_);
        return begin_ + index;
    }
    T* insert(const T* at, std::size_t count, const T& item) {
        const Vector items(count, item);
        return insert(at, items.begin_, items.end_);
    }
    T* insert(const T* at, std::initializer_list<T> items) { return insert(at, items.begin(), items.end()); }

    T* erase(const T* at) { return erase(at, at + 1); }
    T* erase(const T* first, const T* last) {
        T* to = begin_ + (first - begin_);
        T* from = begin_ + (last - begin_);
        if (to == from) {
            return to;
        }
        T* const place = to;
        if constexpr (is_bytes()) {
            std::memmove(static_cast<void*>(to), static_cast<const void*>(from),
                         static_cast<std::size_t>(end_ - from) * sizeof(T));
            to += end_ - from;
        } else {
            for (; from != end_; ++from, ++to) {
                *to = std::move(*from);
            }
        }
        drop(to);
        return place;
    }

    bool operator==(const Vector& other) const {
        if (size() != other.size()) {
            return false;
        }
        for (std::size_t at = 0; at < size(); ++at) {
            if (!(begin_[at] == other.begin_[at])) {
                return false;
            }
        }
        return true;
    }
    // Lexicographic.
    bool operator<(const Vector& other) const {
        const std::size_t both = size() < other.size() ? size() : other.size();
        for (std::size_t at = 0; at < both; ++at) {
            if (begin_[at] < other.begin_[at]) {
                return true;
            }
            if (other.begin_[at] < begin_[at]) {
                return false;
            }
        }
        return size() < other.size();
    }

private:
    static constexpr bool is_bytes() { return std::is_trivially_copyable_v<T>; }

    void drop(T* from) {
        if constexpr (!std::is_trivially_destructible_v<T>) {
            while (end_ != from) {
                (--end_)->~T();
            }
        }
        end_ = from;
    }
    void fill(T* end, const T& value) {
        for (; end_ != end; ++end_) {
            new (static_cast<void*>(end_)) T(value);
        }
    }
    void reserve_more(std::size_t items) {
        if (items > static_cast<std::size_t>(room_ - end_)) {
            grow_to(size() + items);
        }
    }
    void grow_to(std::size_t size) { grow(size > 2 * capacity() ? size : 2 * capacity()); }
    static T* new_room(std::size_t items) {
        return static_cast<T*>(vectors::there(Place::room(vectors::bytes_of(items, sizeof(T)), alignof(T))));
    }
    [[gnu::noinline]] void grow(std::size_t room) { move_to(new_room(room), room); }
    // Constructed before the others move, as it may be made from one of them.
    template <class... Given>
    [[gnu::noinline]] T& emplace_grown(Given&&... given) {
        const std::size_t room = begin_ == nullptr ? 1 : 2 * size();
        vectors::Room items{new_room(room)};
        T* const made =
            new (static_cast<void*>(static_cast<T*>(items.bytes) + size())) T(std::forward<Given>(given)...);
        move_to(static_cast<T*>(std::exchange(items.bytes, nullptr)), room);
        ++end_;
        return *made;
    }
    void move_to(T* items, std::size_t room) {
        const std::size_t used = size();
        if constexpr (is_bytes()) {
            if (used > 0) {
                std::memcpy(static_cast<void*>(items), begin_, used * sizeof(T));
            }
        } else {
            for (std::size_t at = 0; at < used; ++at) {
                new (static_cast<void*>(items + at)) T(std::move(begin_[at]));
                begin_[at].~T();
            }
        }
        std::free(begin_);
        begin_ = items;
        end_ = begin_ + used;
        room_ = begin_ + room;
    }
    template <class From>
    [[gnu::noinline]] void append(From first, From last) {
        if constexpr (std::is_pointer_v<From>) {
            const auto items = static_cast<std::size_t>(last - first);
            reserve_more(items);
            if constexpr (is_bytes() && std::is_same_v<std::remove_cv_t<std::remove_pointer_t<From>>, T>) {
                if (items > 0) {
                    std::memcpy(static_cast<void*>(end_), first, items * sizeof(T));
                }
                end_ += items;
                return;
            }
        }
        for (; first != last; ++first) {
            emplace_back(*first);
        }
    }
    void append_moved(T* first, T* last) {
        reserve_more(static_cast<std::size_t>(last - first));
        for (; first != last; ++first) {
            emplace_back(std::move(*first));
        }
    }

    T* begin_ = nullptr;
    T* end_ = nullptr;
    T* room_ = nullptr;
};

template <class From>
Vector(From, From) -> Vector<std::remove_cvref_t<decltype(*std::declval<From>())>>;

// Keeps the order of the rest.
template <class T, class Gone>
void erase_if(Vector<T>& items, Gone gone) {
    T* to = items.begin();
    for (T& item : items) {
        if (!gone(item)) {
            if (to != &item) {
                *to = std::move(item);
            }
            ++to;
        }
    }
    items.erase(to, items.end());
}

template <class T, class U>
void erase(Vector<T>& items, const U& value) {
    erase_if(items, [&](const T& item) { return item == value; });
}

}  // namespace yantra
