// Utilisation: how many bytes each dimension or link carried in each of equal stretches of a run.
//
// Where messages share links, by the rates they had; else the bytes of a message are spread evenly over the time
// they take. Whole bytes are given to each stretch such that every sum over stretches is exact.
#pragma once

#include "base/vector.hpp"
#include "record/recording.hpp"
#include "model/model.hpp"
#include "run/outcome.hpp"

namespace yantra {

struct Utilisation {
    Vector<u64> edges;   // ticks at which the bins begin; one more at the end
    Vector<u64> bytes;   // of the first dimension or link, by bin; then of the next
};

Utilisation dimension_utilisation(const Model& model, const Outcome& outcome,
                                  const Recording& recording, u32 bins);

// Of the links that carried something, in the order of Outcome::links.
Utilisation link_utilisation(const Model& model, const Outcome& outcome, const Recording& recording,
                             u32 bins);

}  // namespace yantra
