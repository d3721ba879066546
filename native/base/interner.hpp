// Interner: gives equal strings one small number, in order of first appearance.
//
// Trade-off: open addressing over a power-of-two table at most half full; strings are never removed.
// The hash is a multiply-mix of eight bytes at a time, enough for names; it is not keyed, so a hostile
// file can make lookups linear but never wrong.
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
    static std::uint64_t hash(std::string_view text) {
        constexpr std::uint64_t factor = 0x9e3779b97f4a7c15U;
        std::uint64_t state = text.size() * factor;
        while (!text.empty()) {
            std::uint64_t word = 0;
            const std::size_t part = text.size() < sizeof(word) ? text.size() : sizeof(word);
            std::memcpy(&word, text.data(), part);
            state = std::rotl((state ^ word) * factor, 29);
            text.remove_prefix(part);
        }
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
