// Happening: an entry of a run's log.
#pragma once

#include "base/types.hpp"

namespace yantra {

struct Happening {
    enum What : u8 { starts, ends, finishes };
    u32 rank = none;
    u32 node = none;       // that starts or ends; none where the rank finishes
    What what = finishes;
};

// Beside finishes of ranks: the first collective of each type in each group, or all nodes.
enum class Notes : u8 { nothing, groups, nodes };

}  // namespace yantra
