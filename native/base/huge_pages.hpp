// HugePages: room in pages of 2 MB where it is large enough to fill some.
//
// A pool of millions of objects is read in no order, so with pages of 4 kB each access looks up a page first, which in a
// virtual machine takes longer than the access. Linux gives the larger ones to who asks for them ("madvise" of transparent
// huge pages, its default). Trade-off: up to 2 MB of a block may be unused.
#pragma once

#include <cstddef>
#include <cstdlib>

#include "base/vector.hpp"

#if defined(__linux__)
#include <sys/mman.h>
#endif

namespace yantra {

struct HugePages {
    static constexpr std::size_t page = std::size_t{2} << 20;
    static constexpr std::size_t least = 2 * page;   // bytes of a room that asks for them
    static constexpr std::size_t line = 64;          // of the cache; a room begins one, and what fills lines stays in them

    // For std::free; nullptr where there is none.
    static void* room(std::size_t bytes, std::size_t alignment) {
        if (bytes < least) {
            return vectors::aligned_room(bytes, alignment > line ? alignment : line);
        }
        void* const room = vectors::aligned_room(bytes, page);
#if defined(__linux__)
        if (room != nullptr) {
            madvise(room, bytes / page * page, MADV_HUGEPAGE);   // it may say no: then pages are small
        }
#endif
        return room;
    }
};

template <class T>
using HugeVector = Vector<T, HugePages>;

}  // namespace yantra
