// One step of a hash over numbers; for look-ups that compare what they find.
#pragma once

#include "base/types.hpp"

namespace yantra {

inline u64 mix(u64 hash, u64 value) {
    hash ^= value + 0x9e3779b97f4a7c15ULL + (hash << 6U) + (hash >> 2U);
    return hash * 0xbf58476d1ce4e5b9ULL;
}

}  // namespace yantra
