// FlowClasses: links that carry the same flows, of which a folded run keeps one of each class.
//
// fold/flow_partition.hpp finds them, fold/runtime/folded_ways.hpp runs over them.
#pragma once

#include <unordered_map>

#include "base/types.hpp"
#include "base/vector.hpp"
#include "fabric/way.hpp"

namespace yantra {

struct FlowClasses {
    Vector<u32> class_of;                 // by link; none where none crosses it
    Vector<u32> one_of;                   // by class: a link
    Vector<u32> count;                    // by class: its links
    std::unordered_map<u64, Way> ways;         // of representatives, by pair(): over classes

    static u64 pair(u32 src, u32 dst) { return u64{src} << 32U | dst; }
};

}  // namespace yantra
