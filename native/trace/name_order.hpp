// Numbers names that come in nearly the same order again and again, as those of attributes do.
//
// Trade-off: a name is first compared with the one of its length that came behind the last one before, which
// costs less than a hash; only where it differs is it looked up.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

#include "base/interner.hpp"

namespace yantra {

class NameOrder {
public:
    // `look_up` gives the number of a name that was not the expected one.
    template <typename LookUp>
    std::uint32_t number(std::string_view name, const LookUp& look_up) {
        Following& guess = following_[(last_ * 16 + name.size()) % following_.size()];
        if (guess.number == Interner::absent || !is_same(guess.text, name)) [[unlikely]] {
            guess.number = look_up(name);
            guess.text = name;
        }
        last_ = guess.number;
        return guess.number;
    }

private:
    struct Following {
        std::string text;
        std::uint32_t number = Interner::absent;
    };

    // Names are short: a call to compare them would cost more than they do. The last word overlaps the one
    // before it.
    static bool is_same(const std::string& text, std::string_view name) {
        const std::size_t size = name.size();
        if (text.size() != size) {
            return false;
        }
        const char* const a = text.data();
        const char* const b = name.data();
        if (size < 8) {
            return std::equal(a, a + size, b);
        }
        for (std::size_t at = 0; at + 8 < size; at += 8) {
            if (std::memcmp(a + at, b + at, 8) != 0) {
                return false;
            }
        }
        return std::memcmp(a + size - 8, b + size - 8, 8) == 0;
    }

    std::array<Following, 256> following_;
    std::uint32_t last_ = 0;
};

}  // namespace yantra
