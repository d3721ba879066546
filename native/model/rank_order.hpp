// RankOrder: an order of ranks by what they do, and not by their numbers.
//
// Where two packets come to one queue in the same tick, one of them goes first. A number of a rank must not decide it, or
// a job would take another time where its ranks are numbered otherwise. So ranks are told apart by their work: by a hash
// of their own, then again and again by those of whom they exchange messages with (colour refinement: Weisfeiler and
// Leman, 1968), and at last by whose work takes longer, as a hash of times would order a job otherwise in other units.
// What others do who exchange nothing with two ranks never decides between these. Trade-off: ranks that this does not
// tell apart are equal here, though their work may differ in what colours cannot see, and what comes later in a job may
// decide what goes first now; a pass over all operations, and a few over the pairs that exchange messages.
#pragma once

#include "base/types.hpp"
#include "base/vector.hpp"
#include "model/model.hpp"

namespace yantra {

// By rank: its place in the order, equal for those that are not told apart; 65,535 for all that come later. Nothing of a model without
// jobs.
Vector<u16> rank_order(const Model& model);

}  // namespace yantra
