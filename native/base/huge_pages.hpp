// HugePages: memory in pages of 2 MB where it is large enough.
//
// In a pool of millions of objects read at random, looking up 4 kB pages can take longer than the
// access. Linux gives large ones on request (transparent huge pages, "madvise"). Trade-off: up to 2
// MB of a block may be unused.
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
    static constexpr std::size_t least = 2 * page;   // bytes from which they are requested
    static constexpr std::size_t line = 64;          // of the cache; allocations are aligned to it

    // To be freed by std::free; nullptr if out of memory.
    static void* room(std::size_t bytes, std::size_t alignment) {
        if (bytes < least) {
            return vectors::aligned_room(bytes, alignment > line ? alignment : line);
        }
        void* const room = vectors::aligned_room(bytes, page);
#if defined(__linux__)
        if (room != nullptr) {
            madvise(room, bytes / page * page, MADV_HUGEPAGE);   // if refused, pages stay small
        }
#endif
        return room;
    }
};

template <class T>
using HugeVector = Vector<T, HugePages>;

}  // namespace yantra
