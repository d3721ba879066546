// RankOrder: orders ranks by what they do, not by number: by a hash of their work, then of their
// peers' (colour refinement: Weisfeiler and Leman, 1968), then by whose work takes longer.
// Trade-off: colours can miss a difference.
#pragma once

#include <vector>

#include "base/types.hpp"
#include "model/model.hpp"

namespace yantra {

// By rank; equal if not distinguished; 65,535 beyond. Empty without jobs.
std::vector<u16> rank_order(const Model& model);

}  // namespace yantra
