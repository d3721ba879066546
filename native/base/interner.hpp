// Interner: gives equal strings one small number, in order of first appearance. Trade-off: open
// addressing, at most half full; strings are never removed.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/ensure.hpp"

namespace yantra {

class Interner {
public:
    static constexpr std::uint32_t absent = 0xffffffffU;

    std::uint32_t find(std::string_view text) const {
        if (slots_.empty()) {
            return absent;
        }
        return slots_[slot_of(text)];
    }

    std::uint32_t intern(std::string_view text) {
        if (names_.size() * 2 >= slots_.size()) {
            grow();
        }
        std::uint32_t& slot = slots_[slot_of(text)];
        if (slot == absent) {
            ensure(names_.size() < absent, "interner: too many strings");
            slot = static_cast<std::uint32_t>(names_.size());
            names_.emplace_back(text);
        }
        return slot;
    }

    const std::vector<std::string>& names() const { return names_; }
    std::vector<std::string> take() && { return std::move(names_); }

private:
    template <typename Word>
    static std::uint64_t load(const char* at) {
        Word word = 0;
        std::memcpy(&word, at, sizeof(Word));
        return word;
    }

    static std::uint64_t hash(std::string_view text) {
        constexpr std::uint64_t factor = 0x9e3779b97f4a7c15U;
        const std::size_t size = text.size();
        const char* const at = text.data();
        std::uint64_t state = size;
        if (size >= 8) {
            for (std::size_t i = 0; i + 8 < size; i += 8) {
                state = std::rotl((state ^ load<std::uint64_t>(at + i)) * factor, 29);
            }
            state ^= load<std::uint64_t>(at + size - 8);
        } else if (size >= 4) {
            state ^= load<std::uint32_t>(at) << 32U ^ load<std::uint32_t>(at + size - 4);
        } else if (size > 0) {
            state ^= load<std::uint8_t>(at) << 16U ^ load<std::uint8_t>(at + size / 2) << 8U ^
                     load<std::uint8_t>(at + size - 1);
        }
        state *= factor;
        return state ^ (state >> 32U);
    }

    std::size_t slot_of(std::string_view text) const {
        const std::size_t mask = slots_.size() - 1;
        std::size_t at = hash(text) & mask;
        while (slots_[at] != absent && names_[slots_[at]] != text) {
            at = (at + 1) & mask;
        }
        return at;
    }

    void grow() {
        slots_.assign(slots_.empty() ? 64 : slots_.size() * 2, absent);
        for (std::uint32_t i = 0; i < names_.size(); ++i) {
            slots_[slot_of(names_[i])] = i;
        }
    }

    std::vector<std::uint32_t> slots_;
    std::vector<std::string> names_;
};

}  // namespace yantra
