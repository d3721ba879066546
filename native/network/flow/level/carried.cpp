#include "network/flow/level/carried.hpp"

#include <cmath>
#include <utility>

namespace yantra::inline YANTRA_RUN::flow {

namespace {

constexpr double nudge_bytes = 1.0 / 1024.0;   // so that rounding does not take a byte

}  // namespace

void Carried::add(RouteId route, i64 bytes, u64 messages) {
    routes_.visit(route, [&](LinkId link, const Way::Part& part) {
        LinkUse& use = use_[link];
        use.messages += messages * part.flows;
        if (part.shared == static_cast<double>(part.flows)) {
            use.bytes += static_cast<u64>(bytes * i64{part.flows});
        } else {
            divided_bytes_[link] += static_cast<double>(bytes) * part.shared;
        }
    });
}

std::vector<LinkUse> Carried::rounded() && {
    for (u32 link = 0; link < use_.size(); ++link) {
        use_[LinkId(link)].bytes += static_cast<u64>(std::llround(divided_bytes_[LinkId(link)] + nudge_bytes));
    }
    return std::move(use_).take();
}

}  // namespace yantra::inline YANTRA_RUN::flow
