// Shape: routers as points of a grid whose dimensions are lines (a mesh) or rings (a torus), each with some nodes.
//
// Port 2d of a router goes up in dimension d and port 2d + 1 down; the ports after these are its nodes'. What leaves by
// port p comes in by port p ^ 1 of the neighbour. A mesh has ports at its edges that lead nowhere. Trade-off: every
// router has the ports of an inner one, so that the place of a port is one multiplication.
#pragma once

#include "base/types.hpp"
#include "base/vector.hpp"

namespace yantra::noc {

struct Dimension {
    u32 size = 1;
    bool wraps = false;
    u32 link_cycles = 1;   // of a channel along it
};

class Shape {
public:
    // Throws std::invalid_argument, naming what is wrong.
    Shape(Vector<Dimension> dimensions, u32 nodes_per_router);

    const Vector<Dimension>& dimensions() const { return dimensions_; }
    u32 nodes_per_router() const { return nodes_per_router_; }
    u32 routers() const { return routers_; }
    u32 nodes() const { return routers_ * nodes_per_router_; }
    u32 ports() const { return first_local() + nodes_per_router_; }
    u32 first_local() const { return static_cast<u32>(2 * dimensions_.size()); }
    bool wraps() const;

    u32 router_of(u32 node) const { return node / nodes_per_router_; }
    u32 port_of(u32 node) const { return first_local() + node % nodes_per_router_; }
    u32 coordinate(u32 router, u32 dimension) const {
        return coordinates_[std::size_t{router} * dimensions_.size() + dimension];
    }
    u32 router_at(const Vector<u32>& coordinates) const;
    // The router behind a port of a dimension; none at the edge of a mesh.
    u32 neighbour(u32 router, u32 port) const;
    // Channels on a shortest way.
    u32 hops(u32 from, u32 to) const;
    // The cycles for which a head is on the channels of a shortest way.
    u32 channel_cycles(u32 from, u32 to) const;

private:
    u32 steps(u32 dimension, u32 from, u32 to) const;

    Vector<Dimension> dimensions_;
    u32 nodes_per_router_;
    u32 routers_ = 1;
    Vector<u32> coordinates_;   // by router and dimension
};

}  // namespace yantra::noc
