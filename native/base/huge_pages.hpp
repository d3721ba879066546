// HugePages: an allocator that asks for pages of 2 MB where a block is large enough to fill some.
//
// A pool of millions of objects is read in no order, so with pages of 4 kB each access looks up a page first, which in a
// virtual machine takes longer than the access. Linux gives the larger ones to who asks for them ("madvise" of transparent
// huge pages, its default). Trade-off: up to 2 MB of a block may be unused.
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
    static constexpr std::size_t least = 2 * page;   // bytes of a block that asks for them

    HugePages() = default;
    template <class Other>
    HugePages(const HugePages<Other>&) {}   // NOLINT: allocators convert

    T* allocate(std::size_t count) {
        const std::size_t bytes = count * sizeof(T);
        if (bytes < least) {
            return static_cast<T*>(::operator new(bytes, alignment));
        }
        void* block = ::operator new(bytes, std::align_val_t{page});
#if defined(__linux__)
        // It may say no: then pages are small.
        madvise(block, bytes / page * page, MADV_HUGEPAGE);
#endif
        return static_cast<T*>(block);
    }
    void deallocate(T* block, std::size_t count) {
        ::operator delete(block, count * sizeof(T) < least ? alignment : std::align_val_t{page});
    }

    bool operator==(const HugePages&) const { return true; }

private:
    // A block begins a line of the cache, and what fills lines stays in them.
    static constexpr std::align_val_t alignment{alignof(T) > 64 ? alignof(T) : 64};
};

template <class T>
using HugeVector = std::vector<T, HugePages<T>>;

}  // namespace yantra
