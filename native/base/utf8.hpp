// Finds the first byte that is not valid UTF-8 (RFC 3629, section 4).
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

namespace yantra {

inline std::size_t utf8_sequence_bytes(std::string_view text) {
    const auto at = [&](std::size_t i) -> unsigned {
        return i < text.size() ? static_cast<std::uint8_t>(text[i]) : 0U;
    };
    const auto continues = [&](std::size_t i) { return (at(i) & 0xc0U) == 0x80U; };
    const unsigned first = at(0);
    if (first < 0x80) {
        return 1;
    }
    if (first >= 0xc2 && first <= 0xdf) {
        return continues(1) ? 2 : 0;
    }
    if (first >= 0xe0 && first <= 0xef) {
        const bool too_long = first == 0xe0 && at(1) < 0xa0;
        const bool surrogate = first == 0xed && at(1) > 0x9f;
        return continues(1) && continues(2) && !too_long && !surrogate ? 3 : 0;
    }
    if (first >= 0xf0 && first <= 0xf4) {
        const bool too_long = first == 0xf0 && at(1) < 0x90;
        const bool too_large = first == 0xf4 && at(1) > 0x8f;
        return continues(1) && continues(2) && continues(3) && !too_long && !too_large ? 4 : 0;
    }
    return 0;
}

inline bool is_ascii(const char* at, std::size_t size) {
    std::uint64_t word = 0;
    if (size >= 8) {
        std::memcpy(&word, at, 8);
    } else if (size >= 4) {   // the last four overlap the first
        std::uint32_t first = 0;
        std::uint32_t last = 0;
        std::memcpy(&first, at, 4);
        std::memcpy(&last, at + size - 4, 4);
        word = first | last;
    } else {
        for (std::size_t i = 0; i < size; ++i) {
            word |= static_cast<std::uint8_t>(at[i]);
        }
    }
    return (word & 0x8080808080808080U) == 0;
}

// `text.size()` if all is well formed.
inline std::size_t first_bad_utf8(std::string_view text) {
    constexpr std::size_t word = 8;
    const std::size_t size = text.size();
    std::size_t i = 0;
    while (i + word <= size && is_ascii(text.data() + i, word)) {
        i += word;
    }
    const std::size_t last = size < word ? 0 : size - word;
    if (i >= last && is_ascii(text.data() + last, size - last)) {
        return size;
    }
    while (i < size) {
        if (i + word <= size && is_ascii(text.data() + i, word)) {
            i += word;
            continue;
        }
        const std::size_t step = utf8_sequence_bytes(text.substr(i));
        if (step == 0) {
            return i;
        }
        i += step;
    }
    return i;
}

}  // namespace yantra
