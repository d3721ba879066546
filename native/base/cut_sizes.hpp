// CutSizes: messages that carry only the low 32 bits of their size (quirk sizes-of-32-bits).
#pragma once

#include "base/types.hpp"

namespace yantra {

struct CutSizes {
    u64 count = 0;
    u64 bytes = 0;   // of the first such message
    u64 kept = 0;    // how many of these are kept

    void note(u64 whole, u64 part) {
        if (count++ == 0) {
            bytes = whole;
            kept = part;
        }
    }
    CutSizes and_also(const CutSizes& other) const {
        return count == 0 ? other : CutSizes{count + other.count, bytes, kept};
    }
};

inline i64 in_32_bits(u64 bytes) { return static_cast<i32>(static_cast<u32>(bytes)); }

}  // namespace yantra
