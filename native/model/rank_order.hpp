// RankOrder: orders ranks by what they do, not by number.
//
// If numbers ordered two packets of one tick at a queue, times would depend on the numbering. So
// ranks are distinguished by a hash of their work, then repeatedly by their peers' (colour
// refinement: Weisfeiler and Leman, 1968), and finally by whose work takes longer, as hashes of
// times would depend on units. Trade-off: colours can miss a difference, and later work may decide
// an earlier tie; a pass over all operations, and a few over communicating pairs.
#pragma once

#include "base/types.hpp"
#include "base/vector.hpp"
#include "model/model.hpp"

namespace yantra {

// By rank: its place, equal if not distinguished; 65,535 for all beyond. Empty for a model without
// jobs.
Vector<u16> rank_order(const Model& model);

}  // namespace yantra
