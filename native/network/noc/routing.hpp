// Routing: by which ports and virtual channels a head may leave a router. One file each in
// network/noc/routing, self-registered. It must be free of circles (Dally and Seitz, IEEE
// Transactions on Computers 1987) or have escape channels (Duato, IEEE TPDS 1993); circle.hpp
// checks.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/types.hpp"
#include "engine/rng.hpp"
#include "network/noc/shape.hpp"

namespace yantra::noc {

// Higher priority is tried first.
struct Offer {
    u64 vcs = 0;
    u32 port = 0;
    u32 priority = 0;
};

// At most `most_offers` of the routing.
class Offers {
public:
    Offers(Offer* first, u32& count) : first_(first), count_(count) { count_ = 0; }
    void add(const Offer& offer) { first_[count_++] = offer; }

private:
    Offer* first_;
    u32& count_;
};

// Not yet at its destination's router.
struct Head {
    u32 router;
    u32 destination;    // a router
    u32 in_port;
    u32 in_vc;
    u8& half;           // the packet's own: which half of a ring's VCs it takes
    const u32* used;    // by port: flits in the buffers behind it or on the way there
};

class Routing {
public:
    explicit Routing(const Shape& shape, u32 vcs) : shape_(shape), vcs_(vcs) {}
    Routing(const Routing&) = delete;
    Routing& operator=(const Routing&) = delete;
    virtual ~Routing() = default;

    virtual void route(const Head& head, Rng& random, Offers& offers) const = 0;
    virtual u32 most_offers() const { return 1; }
    // Whether packets of several flits may only take empty VCs (Duato 1993, assumption 5).
    virtual bool takes_empty_vcs() const { return false; }
    // As bits; 0 if all channels are free of circles.
    virtual u64 escape_vcs() const { return 0; }

protected:
    u64 all_vcs() const { return vcs_ == 64 ? ~u64{0} : (u64{1} << vcs_) - 1; }

    const Shape& shape_;
    const u32 vcs_;
};

// `half` becomes the packet's side of the ring's dateline (Dally and Seitz): the upper one if its
// way crosses the link from last to first router. Equal ways are drawn.
u32 dimension_order_port(const Shape& shape, const Head& head, bool keeps_direction, Rng& random);
// Precondition: at least 2 VCs.
u64 half_of(u64 vcs, u32 count, u32 half);

struct RoutingKind {
    std::string name;
    std::string help;   // one line
    std::unique_ptr<Routing> (*make)(const Shape& shape, u32 vcs);   // throws std::invalid_argument
};

const std::vector<RoutingKind>& routings();
const RoutingKind* find_routing(std::string_view name);

struct RegisteredRouting {
    [[gnu::cold]] explicit RegisteredRouting(RoutingKind kind);
};

}  // namespace yantra::noc
