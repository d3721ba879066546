#include "network/noc/shape.hpp"

#include <algorithm>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "base/ensure.hpp"

namespace yantra::noc {

namespace {

constexpr u32 most_ports = 64;       // a set of ports is one word
constexpr u32 most_routers = 1u << 20;

}  // namespace

Shape::Shape(std::vector<Dimension> dimensions, u32 nodes_per_router)
    : dimensions_(std::move(dimensions)), nodes_per_router_(nodes_per_router) {
    if (dimensions_.empty() || nodes_per_router_ == 0 || ports() > most_ports) {
        throw std::invalid_argument("sizes: at least one dimension and one node a router are expected, and at most " +
                                    std::to_string(most_ports) + " ports");
    }
    for (const Dimension& dimension : dimensions_) {
        if (dimension.size < 2 || dimension.size > most_routers / routers_) {
            throw std::invalid_argument("sizes: 2 or more routers in each dimension are expected, and at most " +
                                        std::to_string(most_routers) + " in all; a dimension has " +
                                        std::to_string(dimension.size));
        }
        if (dimension.link_cycles == 0) {
            throw std::invalid_argument("link_cycles: at least 1 is expected");
        }
        routers_ *= dimension.size;
    }
    for (u32 router = 0; router < routers_; ++router) {
        u32 rest = router;
        for (const Dimension& dimension : dimensions_) {
            coordinates_.push_back(rest % dimension.size);
            rest /= dimension.size;
        }
    }
}

bool Shape::wraps() const {
    return std::any_of(dimensions_.begin(), dimensions_.end(), [](const Dimension& one) { return one.wraps; });
}

u32 Shape::router_at(const std::vector<u32>& coordinates) const {
    ensure(coordinates.size() == dimensions_.size(), "a router of another shape");
    u32 router = 0;
    u32 stride = 1;
    for (std::size_t dimension = 0; dimension < dimensions_.size(); ++dimension) {
        router += coordinates[dimension] * stride;
        stride *= dimensions_[dimension].size;
    }
    return router;
}

u32 Shape::neighbour(u32 router, u32 port) const {
    const u32 dimension = port / 2;
    const auto [size, wraps, cycles] = dimensions_[dimension];
    u32 stride = 1;
    for (u32 before = 0; before < dimension; ++before) {
        stride *= dimensions_[before].size;
    }
    const u32 at = coordinate(router, dimension);
    const bool is_up = port % 2 == 0;
    if (at == (is_up ? size - 1 : 0)) {
        const u32 across = stride * (size - 1);
        return !wraps ? none : is_up ? router - across : router + across;
    }
    return is_up ? router + stride : router - stride;
}

u32 Shape::steps(u32 dimension, u32 from, u32 to) const {
    const u32 a = coordinate(from, dimension);
    const u32 b = coordinate(to, dimension);
    const u32 apart = a < b ? b - a : a - b;
    return dimensions_[dimension].wraps ? std::min(apart, dimensions_[dimension].size - apart) : apart;
}

u32 Shape::hops(u32 from, u32 to) const {
    u32 sum = 0;
    for (u32 dimension = 0; dimension < dimensions_.size(); ++dimension) {
        sum += steps(dimension, from, to);
    }
    return sum;
}

u32 Shape::channel_cycles(u32 from, u32 to) const {
    u32 sum = 0;
    for (u32 dimension = 0; dimension < dimensions_.size(); ++dimension) {
        sum += steps(dimension, from, to) * dimensions_[dimension].link_cycles;
    }
    return sum;
}

}  // namespace yantra::noc
