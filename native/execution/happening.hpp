// Happening: what a log tells of a run, noted in the order in which it happens.
//
// Ticks alone do not give that order: much happens within one.
#pragma once

#include "base/types.hpp"

namespace yantra {

struct Happening {
    enum What : u8 { starts, ends, finishes };
    u32 rank = none;
    u32 node = none;       // that starts or ends; none where the rank finishes
    What what = finishes;
};

// What is noted beside the finishes of ranks: the start of the first collective of each type that a rank enters in
// each group, or all of nodes.
enum class Notes : u8 { nothing, groups, nodes };

}  // namespace yantra
