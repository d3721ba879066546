// The tick of what has not happened.
#pragma once

#include "base/types.hpp"

namespace yantra {

inline constexpr u64 never = ~u64{0};

}  // namespace yantra
