// Shared by networks that count a message once for every dimension it crosses.
#pragma once

#include <vector>

#include "fabric/grid.hpp"
#include "network/network.hpp"

namespace yantra {

template <class Visit>
void for_each_crossed(const Grid& grid, const Message& message, Visit&& visit) {
    for (u32 d = 0; d < grid.dimensions(); ++d) {
        const u32 from = grid.coordinate(message.src.index(), d);
        const u32 to = grid.coordinate(message.dst.index(), d);
        if (from != to) {
            visit(d, from, to);
        }
    }
}

inline void count(LinkUse& use, u64 bytes, u64 times) {
    use.bytes += bytes * times;
    use.messages += times;
}

inline void repeat_use(std::vector<LinkUse>& use, const std::vector<LinkUse>& before, u64 times) {
    for (u32 d = 0; d < use.size(); ++d) {
        use[d].bytes += (use[d].bytes - before[d].bytes) * times;
        use[d].messages += (use[d].messages - before[d].messages) * times;
    }
}

}  // namespace yantra
