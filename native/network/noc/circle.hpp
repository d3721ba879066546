// Circles: whether a routing could deadlock, found before anything is sent.
//
// Follows every pair of routers through all offers under drawn loads. Two channels (output port and
// VC) depend on each other if a packet may hold one and request the other. Without a circle there
// is no deadlock (Dally and Seitz 1987). A routing with escape VCs must offer them at every router,
// and only these must be free of circles (Duato 1993). Trade-off: draws may miss a rare offer; work
// is quadratic in the routers, so for shapes of dozens.
#pragma once

#include <string>

#include "base/vector.hpp"
#include "network/noc/routing.hpp"
#include "network/noc/shape.hpp"

namespace yantra::noc {

struct Channel {
    u32 router = 0;
    u32 port = 0;
    u32 vc = 0;
};

struct CircleFound {
    Vector<Channel> circle;       // each depends on the next, the last on the first; empty if none
    bool lacks_escapes = false;        // some head is offered no escape VC
    bool leaves_shape = false;         // some offer leads over an edge
};

CircleFound find_circle(const Routing& routing, const Shape& shape, u32 vcs);

}  // namespace yantra::noc
