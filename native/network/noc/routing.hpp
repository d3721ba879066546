// Routing: by which ports, and which virtual channels there, the head of a packet may leave a router.
//
// A routing is asked once for a packet and router. It may offer several ports; the VC allocator takes one by priority.
// One file each in network/noc/routing, which registers itself. A routing must be free of circles of channels that wait
// for each other (Dally and Seitz, "Deadlock-free message routing in multiprocessor interconnection networks", IEEE
// Transactions on Computers 1987), or have channels to escape by (Duato, "A new theory of deadlock-free adaptive
// routing in wormhole networks", IEEE TPDS 1993). circle.hpp looks for circles.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "base/types.hpp"
#include "base/vector.hpp"
#include "engine/rng.hpp"
#include "network/noc/shape.hpp"

namespace yantra::noc {

// VCs of one port that may be taken, as bits. Of two offers the one with the higher priority is tried first.
struct Offer {
    u64 vcs = 0;
    u32 port = 0;
    u32 priority = 0;
};

// The offers for one head. Precondition of add(): no more than `most_offers` of the routing.
class Offers {
public:
    Offers(Offer* first, u32& count) : first_(first), count_(count) { count_ = 0; }
    void add(const Offer& offer) { first_[count_++] = offer; }

private:
    Offer* first_;
    u32& count_;
};

// A head at a router that is not its destination's.
struct Head {
    u32 router;
    u32 destination;    // a router
    u32 in_port;
    u32 in_vc;
    u8& half;           // the packet's own, for what it has to remember: which half of a ring's VCs it takes
    const u32* used;    // by port: the flits that are in the buffers behind it, or on the way there
};

class Routing {
public:
    explicit Routing(const Shape& shape, u32 vcs) : shape_(shape), vcs_(vcs) {}
    Routing(const Routing&) = delete;
    Routing& operator=(const Routing&) = delete;
    virtual ~Routing() = default;

    virtual void route(const Head& head, Rng& random, Offers& offers) const = 0;
    virtual u32 most_offers() const { return 1; }
    // Whether a VC may only be taken when it is empty, by packets of more than a flit. Where packets may wait for
    // channels of which some are on a circle, one that is behind another in a buffer and has flits in others
    // could close it (Duato 1993, assumption 5). A packet of one flit is in one buffer, whose front has its escape.
    virtual bool takes_empty_vcs() const { return false; }
    // The VCs to escape by, as bits; 0 where all channels are without circles.
    virtual u64 escape_vcs() const { return 0; }

protected:
    u64 all_vcs() const { return vcs_ == 64 ? ~u64{0} : (u64{1} << vcs_) - 1; }

    const Shape& shape_;
    const u32 vcs_;
};

// Dimension order, which other routings have for what must go by an order, too: the port to take, and in `half` on
// which side of the dateline of its ring a packet is (Dally and Seitz). A packet of a ring whose way crosses the link from
// the last router to the first takes the upper half of the VCs all along, and the others the lower. Shortest ways of
// one half never close a circle. Where both ways are as long, the packet draws one.
u32 dimension_order_port(const Shape& shape, const Head& head, bool keeps_direction, Rng& random);
// The VCs of a half. Precondition: at least 2.
u64 half_of(u64 vcs, u32 count, u32 half);

struct RoutingKind {
    std::string name;
    std::string help;   // one line
    std::unique_ptr<Routing> (*make)(const Shape& shape, u32 vcs);   // throws std::invalid_argument
};

// By name.
const Vector<RoutingKind>& routings();
const RoutingKind* find_routing(std::string_view name);

struct RegisteredRouting {
    [[gnu::cold]] explicit RegisteredRouting(RoutingKind kind);
};

}  // namespace yantra::noc
