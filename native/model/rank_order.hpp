// RankOrder: orders ranks by what they do, not by number.
//
// Of two packets at one queue in one tick one goes first; were it by number, times would depend on
// the numbering. So ranks are distinguished by a hash of their work, then repeatedly by those of
// their peers (colour refinement: Weisfeiler and Leman, 1968), and finally ordered by whose work
// takes longer, as hashes of times would depend on units. Unrelated ranks never decide. Trade-off:
// ranks may be equal here though colours miss a difference, and later work may decide an earlier
// tie; a pass over all operations, and a few over communicating pairs.
#pragma once

#include "base/types.hpp"
#include "base/vector.hpp"
#include "model/model.hpp"

namespace yantra {

// By rank: its place, equal if not distinguished; 65,535 for all beyond. Empty for a model without
// jobs.
Vector<u16> rank_order(const Model& model);

}  // namespace yantra
