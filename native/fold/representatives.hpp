// Representatives: what each class's representative
// needs: channels between classes, and classes of communicators.
#pragma once

#include "fold/folding.hpp"
#include "fold/rank_names.hpp"

namespace yantra {

// Precondition: `class_of`.
void add_representatives(Folding& folding, const RankNames& names, u32 classes);

}  // namespace yantra
