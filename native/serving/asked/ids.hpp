// Ids and time of serving: places in the file and in the fleet.
#pragma once

#include "base/ids.hpp"

namespace yantra::serving {

using RequestId = Id<struct RequestTag>;
using BlockId = Id<struct BlockTag>;     // of KV
using TargetId = Id<struct TargetTag>;   // an engine that takes requests

// In ps, whole; 106 days.
using Time = i64;

inline constexpr Time no_time = -1;
inline constexpr Time end_of_time = INT64_MAX;
inline constexpr Time ps_per_ns = 1000;

}  // namespace yantra::serving
