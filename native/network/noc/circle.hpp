// Circles: whether a routing could deadlock (Dally and Seitz 1987; with escape VCs Duato 1993),
// following every pair of routers through all offers under drawn loads. Trade-off: draws may miss a
// rare offer; quadratic in the routers.
#pragma once

#include <string>
#include <vector>

#include "network/noc/routing.hpp"
#include "network/noc/shape.hpp"

namespace yantra::noc {

struct Channel {
    u32 router = 0;
    u32 port = 0;
    u32 vc = 0;
};

struct CircleFound {
    std::vector<Channel> circle;  // each depends on the next, the last on the first; empty if none
    bool lacks_escapes = false;        // some head is offered no escape VC
    bool leaves_shape = false;         // some offer leads over an edge
};

CircleFound find_circle(const Routing& routing, const Shape& shape, u32 vcs);

}  // namespace yantra::noc
