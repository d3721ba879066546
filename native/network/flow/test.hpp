// Progressive filling step by step, the slow oracle.
#pragma once

#include <algorithm>
#include <vector>

#include "base/types.hpp"

namespace yantra::test {

struct SharedLinks {
    std::vector<double> capacity;          // by link
    std::vector<std::vector<u32>> routes;  // by class
    std::vector<double> weights;
    std::vector<u32> flows;
    std::vector<std::vector<double>> shares = {};   // as `routes`; none: all 1

    double share(std::size_t of_class, std::size_t hop) const {
        return shares.empty() ? 1.0 : shares[of_class][hop];
    }
};

// By class; -1 without flows.
inline std::vector<double> slow_levels(const SharedLinks& world) {
    std::vector<double> level(world.routes.size(), -1.0);
    std::vector<double> left = world.capacity;
    for (;;) {
        std::vector<double> weights(left.size());
        for (u32 at = 0; at < level.size(); ++at) {
            for (std::size_t hop = 0; hop < world.routes[at].size() && level[at] < 0.0; ++hop) {
                weights[world.routes[at][hop]] += world.share(at, hop) * world.weights[at] * world.flows[at];
            }
        }
        u32 least = none;
        for (u32 link = 0; link < left.size(); ++link) {
            if (weights[link] > 1e-9 &&
                (least == none || left[link] / weights[link] < left[least] / weights[least])) {
                least = link;
            }
        }
        if (least == none) {
            return level;
        }
        const double share = std::max(left[least] / weights[least], 0.0);
        for (u32 at = 0; at < level.size(); ++at) {
            const std::vector<u32>& route = world.routes[at];
            const bool is_here = std::find(route.begin(), route.end(), least) != route.end();
            if (level[at] < 0.0 && world.flows[at] > 0 && is_here) {
                level[at] = share;
                for (std::size_t hop = 0; hop < route.size(); ++hop) {
                    left[route[hop]] -= share * world.share(at, hop) * world.weights[at] * world.flows[at];
                }
            }
        }
    }
}

}  // namespace yantra::test
