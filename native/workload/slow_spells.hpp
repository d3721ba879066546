// SlowSpell: when a rank computes more slowly, and by what factor.
#pragma once

#include "base/types.hpp"

namespace yantra {

struct SlowSpell {
    u32 rank = 0;
    u64 from = 0;          // ticks
    u64 until = 0;
    double factor = 1.0;   // a kernel takes so many times as long
};

}  // namespace yantra
