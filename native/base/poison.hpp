// Poison: memory that must be written before it is read again: a pattern in a debug build
// (YANTRA_POISON), an error under AddressSanitizer. Trade-off: items that are not plain bytes keep
// their contents.
#pragma once

#include <cstddef>
#include <cstring>
#include <type_traits>

#if defined(__SANITIZE_ADDRESS__)
#define YANTRA_POISON_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define YANTRA_POISON_ASAN 1
#endif
#endif
#if defined(YANTRA_POISON_ASAN)
#include <sanitizer/asan_interface.h>
#endif

namespace yantra {

struct Poison {
#if defined(YANTRA_POISON) || defined(YANTRA_POISON_ASAN)
    static constexpr bool is_on = true;
#else
    static constexpr bool is_on = false;
#endif
    static constexpr unsigned char pattern = 0xdb;

    template <class T>
    static void put(T* items, std::size_t count = 1) {
        overwrite(items, count);
#if defined(YANTRA_POISON_ASAN)
        __asan_poison_memory_region(items, count * sizeof(T));
#endif
    }
    // Reads stay allowed: for items that move on growth.
    template <class T>
    static void overwrite([[maybe_unused]] T* items, [[maybe_unused]] std::size_t count = 1) {
        if constexpr (is_on && std::is_trivially_copyable_v<T>) {
            std::memset(static_cast<void*>(items), pattern, count * sizeof(T));
        }
    }
    // Allows writing.
    template <class T>
    static void lift([[maybe_unused]] T* items, [[maybe_unused]] std::size_t count = 1) {
#if defined(YANTRA_POISON_ASAN)
        __asan_unpoison_memory_region(items, count * sizeof(T));
#endif
    }
};

}  // namespace yantra
