// Layout: which ports and virtual channels (VCs) there are: those of router r, then of the next;
// behind them, nodes as sources. Trade-off: at most 64 of each.
#pragma once

#include <bit>

#include "base/ids.hpp"
#include "network/noc/shape.hpp"

namespace yantra::noc {

using RouterId = Id<struct RouterTag>;
using PortId = Id<struct PortTag>;
using VcId = Id<struct VcTag>;

class Layout {
public:
    Layout(const Shape& shape, u32 vcs)
        : routers_(shape.routers()), nodes_(shape.nodes()), ports_(shape.ports()), vcs_(vcs) {}

    u32 routers() const { return routers_; }
    u32 ports_of_router() const { return ports_; }
    u32 vcs_of_port() const { return vcs_; }
    // Of all routers.
    u32 ports() const { return routers_ * ports_; }
    u32 vcs() const { return ports() * vcs_; }
    u32 ports_with_sources() const { return ports() + nodes_; }

    PortId port(RouterId router, u32 port) const { return PortId(router.index() * ports_ + port); }
    PortId source(u32 node) const { return PortId(ports() + node); }
    VcId vc(PortId port, u32 vc) const { return VcId(port.index() * vcs_ + vc); }

    RouterId router_of(PortId port) const { return RouterId(port.index() / ports_); }
    u32 within_router(PortId port) const { return port.index() % ports_; }
    PortId port_of(VcId vc) const { return PortId(vc.index() / vcs_); }
    u32 within_port(VcId vc) const { return vc.index() % vcs_; }

private:
    const u32 routers_;
    const u32 nodes_;
    const u32 ports_;   // of a router
    const u32 vcs_;     // of a port
};

inline u64 all_bits(u32 count) { return count == 64 ? ~u64{0} : (u64{1} << count) - 1; }

// Cyclically. Precondition: some bit is set.
inline u32 first_from(u64 bits, u32 from) {
    const u64 rest = bits >> from << from;
    return static_cast<u32>(std::countr_zero(rest != 0 ? rest : bits));
}

}  // namespace yantra::noc
