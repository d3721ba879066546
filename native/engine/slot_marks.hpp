// SlotMarks: which slots of a wheel have something, in two levels of bits.
#pragma once

#include <array>
#include <bit>

#include "base/types.hpp"

namespace yantra {

template <u32 bits>
class SlotMarks {
public:
    static constexpr u32 slots = u32{1} << bits;
    static_assert(bits >= 6 && bits <= 12, "one word tells which words have bits");

    bool any() const { return filled_ != 0; }
    void set(u32 at) {
        words_[at / 64] |= u64{1} << at % 64;
        filled_ |= u64{1} << at / 64;
    }
    void clear(u32 at) {
        // Branchless: with one event per tick, a branch would be unpredictable.
        u64& word = words_[at / 64];
        word &= ~(u64{1} << at % 64);
        filled_ &= ~(u64{word == 0} << at / 64);
    }
    u32 from(u32 at) const {
        const u64 rest = words_[at / 64] >> at % 64;
        if (rest != 0) {
            return at + static_cast<u32>(std::countr_zero(rest));
        }
        const u64 behind = filled_ & ~u64{1} << at / 64;
        return behind == 0 ? none : first_of(static_cast<u32>(std::countr_zero(behind)));
    }
    // If need be round. Precondition: any().
    [[gnu::always_inline]] u32 distance(u32 at) const {
        const u64 rest = words_[at / 64] >> at % 64;
        if (rest != 0) [[likely]] {
            return static_cast<u32>(std::countr_zero(rest));
        }
        return distance_to_others(at);
    }

private:
    [[gnu::noinline]] u32 distance_to_others(u32 at) const {
        const u64 behind = filled_ & ~u64{1} << at / 64;
        const u32 found = first_of(static_cast<u32>(std::countr_zero(behind != 0 ? behind : filled_)));
        return (found - at) & (slots - 1);
    }
    u32 first_of(u32 word) const { return word * 64 + static_cast<u32>(std::countr_zero(words_[word])); }

    u64 filled_ = 0;   // of the words, those that are not 0
    std::array<u64, slots / 64> words_{};
};

}  // namespace yantra
