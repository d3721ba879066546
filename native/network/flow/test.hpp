// What the tests of fair sharing have in common: progressive filling, step by step, as the slow oracle.
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
};

// The level of each class; -1 where there are no flows.
inline std::vector<double> slow_levels(const SharedLinks& world) {
    std::vector<double> level(world.routes.size(), -1.0);
    std::vector<double> left = world.capacity;
    for (;;) {
        std::vector<double> weights(left.size());
        for (u32 at = 0; at < level.size(); ++at) {
            for (u32 link : world.routes[at]) {
                weights[link] += level[at] < 0.0 ? world.weights[at] * world.flows[at] : 0.0;
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
                for (u32 link : route) {
                    left[link] -= share * world.weights[at] * world.flows[at];
                }
            }
        }
    }
}

}  // namespace yantra::test
