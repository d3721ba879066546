// Circles: whether packets under a routing could wait for each other for ever, told before anything is sent.
//
// Every pair of routers is followed over all that the routing offers, under drawn loads. Two channels (an output port and
// a VC) depend on each other if a packet may hold the one and ask for the other. Without a circle of these nobody waits
// for ever (Dally and Seitz 1987). A routing with VCs to escape by needs them at every router, and no circle of these alone
// (Duato 1993). Trade-off: the draws may miss an offer that is rare, and the work grows with the square of the routers,
// so it is for shapes of some dozens.
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
    Vector<Channel> circle;       // each depends on the next, and the last on the first; empty if there is none
    bool lacks_escapes = false;        // some head is not offered a VC to escape by
    bool leaves_shape = false;         // some offer leads over an edge
};

CircleFound find_circle(const Routing& routing, const Shape& shape, u32 vcs);

}  // namespace yantra::noc
