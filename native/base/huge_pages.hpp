// HugePages: an allocator of pages of 2 MB for large blocks (transparent huge pages, "madvise"), as
// random reads of millions of items miss the TLB. Trade-off: up to 2 MB of a block may be unused.
#pragma once

#include <cstddef>
#include <cstdlib>
#include <new>
#include <vector>

#if defined(__linux__)
#include <sys/mman.h>
#endif

namespace yantra {

template <class T>
struct HugePages {
    using value_type = T;

    static constexpr std::size_t page = std::size_t{2} << 20;
    static constexpr std::size_t least = 2 * page;
    static constexpr std::size_t line = 64;          // of the cache; allocations are aligned to it

    HugePages() = default;
    template <class U>
    HugePages(const HugePages<U>&) {}

    T* allocate(std::size_t items) {
        const bool is_huge = items >= least / sizeof(T);
        const std::size_t unit = is_huge ? page : alignof(T) > line ? alignof(T) : line;
        if (items > static_cast<std::size_t>(-1) / 4 / sizeof(T)) {
            throw std::bad_alloc();
        }
        const std::size_t bytes = items * sizeof(T);
        void* const room = std::aligned_alloc(unit, (bytes + unit - 1) / unit * unit);
        if (room == nullptr) {
            throw std::bad_alloc();
        }
#if defined(__linux__)
        if (is_huge) {
            madvise(room, bytes / page * page, MADV_HUGEPAGE);   // if refused, pages stay small
        }
#endif
        return static_cast<T*>(room);
    }
    void deallocate(T* room, std::size_t) { std::free(room); }

    friend bool operator==(const HugePages&, const HugePages&) { return true; }
};

template <class T>
using HugeVector = std::vector<T, HugePages<T>>;

}  // namespace yantra
