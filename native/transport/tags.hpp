// Ranges of message tags: point-to-point below, collectives above, control highest
// (astra-sim-semantics 0.3, 5.9).
#pragma once

#include "base/types.hpp"

namespace yantra {

inline constexpr u32 tag_space = 500'000'000;                // tags of point-to-point messages are below
inline constexpr u32 rendezvous_tag_offset = 1'000'000'000;  // what control messages add to their tag

}  // namespace yantra
