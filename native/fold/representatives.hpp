// Representatives: what the representative of each rank class needs to run in place of its class.
//
// A representative exchanges messages with classes and not with ranks, so each pair of classes needs
// channels of its own. It meets classes in collectives, too, so communicators form classes.
#pragma once

#include "fold/folding.hpp"
#include "fold/rank_names.hpp"

namespace yantra {

// Fills in representatives, counts, channels and communicator classes; `class_of` must be there.
void add_representatives(Folding& folding, const RankNames& names, u32 classes);

}  // namespace yantra
