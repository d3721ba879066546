// Numbers names that recur in nearly the same order: one is first compared with what last followed
// its predecessor.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

#include "base/interner.hpp"

namespace yantra {

class NameOrder {
public:
    // Names, pieces of a file, must outlive this.
    template <typename LookUp>
    std::uint32_t number(std::string_view name, const LookUp& look_up) {
        Following& guess = following_[(last_ * 16 + name.size()) % following_.size()];
        if (guess.size != name.size() || !is_same(guess.text, name)) [[unlikely]] {
            guess = {name.data(), name.size(), look_up(name)};
        }
        last_ = guess.number;
        return guess.number;
    }

private:
    struct Following {
        const char* text = nullptr;
        std::size_t size = std::string_view::npos;   // which no name has
        std::uint32_t number = Interner::absent;
    };

    static bool is_same(const char* text, std::string_view name) {
        const std::size_t size = name.size();
        const char* const other = name.data();
        if (size > 16) {
            return std::memcmp(text, other, size) == 0;
        }
        if (size >= 8) {
            return is_same_word<std::uint64_t>(text, other) &&
                   is_same_word<std::uint64_t>(text + size - 8, other + size - 8);
        }
        if (size >= 4) {
            return is_same_word<std::uint32_t>(text, other) &&
                   is_same_word<std::uint32_t>(text + size - 4, other + size - 4);
        }
        return std::equal(other, other + size, text);
    }

    template <typename Word>
    static bool is_same_word(const char* a, const char* b) {
        return std::memcmp(a, b, sizeof(Word)) == 0;
    }

    std::array<Following, 256> following_;
    std::uint32_t last_ = 0;
};

}  // namespace yantra
