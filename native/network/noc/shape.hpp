// Shape: routers on a grid of lines (mesh) or rings (torus). Port 2d goes up in dimension d, 2d + 1
// down; the nodes' ports follow. Output p is input p ^ 1 of the neighbour.
#pragma once

#include <vector>

#include "base/types.hpp"

namespace yantra::noc {

struct Dimension {
    u32 size = 1;
    bool wraps = false;
    u32 link_cycles = 1;   // of a channel along it
};

class Shape {
public:
    // Throws std::invalid_argument with the reason.
    Shape(std::vector<Dimension> dimensions, u32 nodes_per_router);

    const std::vector<Dimension>& dimensions() const { return dimensions_; }
    u32 nodes_per_router() const { return nodes_per_router_; }
    u32 routers() const { return routers_; }
    u32 nodes() const { return routers_ * nodes_per_router_; }
    u32 ports() const { return first_local() + nodes_per_router_; }
    u32 first_local() const { return static_cast<u32>(2 * dimensions_.size()); }
    bool wraps() const;

    u32 router_of(u32 node) const { return node / nodes_per_router_; }
    u32 port_of(u32 node) const { return first_local() + node % nodes_per_router_; }
    // Precondition: a port of a node.
    u32 node_at(u32 router, u32 port) const { return router * nodes_per_router_ + port - first_local(); }
    u32 coordinate(u32 router, u32 dimension) const {
        return coordinates_[std::size_t{router} * dimensions_.size() + dimension];
    }
    u32 router_at(const std::vector<u32>& coordinates) const;
    u32 neighbour(u32 router, u32 port) const;
    // On a shortest way.
    u32 hops(u32 from, u32 to) const;
    u32 channel_cycles(u32 from, u32 to) const;

private:
    u32 steps(u32 dimension, u32 from, u32 to) const;

    std::vector<Dimension> dimensions_;
    u32 nodes_per_router_;
    u32 routers_ = 1;
    std::vector<u32> coordinates_;   // by router and dimension
};

}  // namespace yantra::noc
