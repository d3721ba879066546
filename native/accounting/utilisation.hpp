// Utilisation: bytes of each dimension or link in equal bins of a run. By rates where messages
// share links, else spread evenly over a message's time.
#pragma once

#include <vector>

#include "record/recording.hpp"
#include "model/model.hpp"
#include "run/outcome.hpp"

namespace yantra {

struct Utilisation {
    std::vector<u64> edges;   // ticks at which the bins begin; one more at the end
    std::vector<u64> bytes;   // of the first dimension or link, by bin; then of the next
};

Utilisation dimension_utilisation(const Model& model, const Outcome& outcome,
                                  const Recording& recording, u32 bins);

Utilisation link_utilisation(const Model& model, const Outcome& outcome, const Recording& recording,
                             u32 bins);

}  // namespace yantra
