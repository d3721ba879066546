// FlowClasses: links with the same flows, one kept per class (fold/flow_partition.hpp).
#pragma once

#include <unordered_map>
#include <vector>

#include "base/types.hpp"
#include "fabric/way.hpp"

namespace yantra {

struct FlowClasses {
    std::vector<u32> class_of;                 // by link, or none
    std::vector<u32> one_of;                   // by class: a link
    std::vector<u32> count;                    // by class: its links
    std::unordered_map<u64, Way> ways;         // of representatives, by pair(): over classes

    static u64 pair(u32 src, u32 dst) { return u64{src} << 32U | dst; }
};

}  // namespace yantra
