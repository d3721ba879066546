// Where a run is when something is too long for its clock: for the error that ends it.
#pragma once

#include <optional>

#include "base/never.hpp"
#include "base/types.hpp"
#include "base/variant.hpp"

namespace yantra {

struct TooLong;

struct Late {
    u64 tick = 0;                // that the clock had come to
    u32 rank = none;
    u32 node = none;             // of the rank
    std::optional<double> ns;    // the duration that alone is too long
};

inline namespace YANTRA_RUN {

class Simulation;

// The node that the event too late is about; where no event tells, the one that started last.
Late late(Simulation& simulation, const TooLong& error);

}  // namespace YANTRA_RUN

}  // namespace yantra
