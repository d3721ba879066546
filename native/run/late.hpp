// Where a run is when something exceeds its clock.
#pragma once

#include <optional>

#include "base/never.hpp"
#include "base/types.hpp"
#include "base/variant.hpp"

namespace yantra {

struct TooLong;

struct Late {
    u64 tick = 0;                // of the clock
    u32 rank = none;
    u32 node = none;             // of the rank
    std::optional<double> ns;    // a duration that alone is too long
};

inline namespace YANTRA_RUN {

class Simulation;

Late late(Simulation& simulation, const TooLong& error);

}  // namespace YANTRA_RUN

}  // namespace yantra
