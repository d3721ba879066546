// Rng: random numbers that depend only on (seed, purpose, id), so another use changes no other
// number. Counter-based (Salmon et al., SC 2011); mix: SplitMix64 (Steele, Lea and Flood, OOPSLA
// 2014).
#pragma once

#include <limits>

#include "base/types.hpp"

namespace yantra {

class Rng {
public:
    using result_type = u64;

    constexpr Rng(u64 seed, u64 purpose, u64 id)
        : key_(mixed(mixed(mixed(seed) ^ purpose * odd) ^ id * odd)) {}

    constexpr u64 operator()() { return mixed(key_ + odd * ++count_); }
    static constexpr u64 min() { return 0; }
    static constexpr u64 max() { return std::numeric_limits<u64>::max(); }

    // Uniform below bound (Lemire, ACM TOMACS 2019). Precondition: bound > 0.
    constexpr u64 below(u64 bound) {
        for (;;) {
            const auto product = static_cast<unsigned __int128>((*this)()) * bound;
            const u64 low = static_cast<u64>(product);
            if (low >= bound || low >= (0 - bound) % bound) {
                return static_cast<u64>(product >> 64U);
            }
        }
    }

    // In [0, 1).
    constexpr double uniform() { return static_cast<double>((*this)() >> 11U) * 0x1.0p-53; }

private:
    static constexpr u64 odd = 0x9e3779b97f4a7c15ULL;

    static constexpr u64 mixed(u64 x) {
        x = (x ^ x >> 30U) * 0xbf58476d1ce4e5b9ULL;
        x = (x ^ x >> 27U) * 0x94d049bb133111ebULL;
        return x ^ x >> 31U;
    }

    u64 key_;
    u64 count_ = 0;
};

}  // namespace yantra
