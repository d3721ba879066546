// PhaseTimes: somebody who may know what a phase of the exchange machine takes without its messages.
//
// A run has one only where it is known that all that take part in a phase do the same at the same time
// (fold/shortcuts/closed_form.hpp).
#pragma once

#include <optional>

#include "collective/runtime/phase_input.hpp"

namespace yantra {

class PhaseTimes {
public:
    // None where only events can tell. Counts the phase, if not: its messages will not be sent.
    virtual std::optional<u64> ticks(const PhaseInput& input) = 0;

protected:
    ~PhaseTimes() = default;
};

}  // namespace yantra
