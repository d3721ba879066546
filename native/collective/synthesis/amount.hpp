// Capacities of links: whole numbers of 128 bits, so that the least of two cuts is never a matter of rounding.
#pragma once

namespace yantra::synthesis {

__extension__ using Amount = __int128;

inline constexpr Amount unlimited = static_cast<Amount>(1) << 125;

}  // namespace yantra::synthesis
