// Link capacities: 128-bit integers, so comparing cuts never rounds.
#pragma once

namespace yantra::synthesis {

__extension__ using Amount = __int128;

inline constexpr Amount unlimited = static_cast<Amount>(1) << 125;

}  // namespace yantra::synthesis
