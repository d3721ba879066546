// Rates equal progressive filling from nothing after every change.
#include "network/flow/max_min.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "base/test.hpp"
#include "network/flow/test.hpp"

namespace {

using namespace yantra;
using test::check;
using test::SharedLinks;

bool is_near(double a, double b) { return std::abs(a - b) <= 1e-11 * std::max(std::abs(a), std::abs(b)); }

std::vector<double> used_of(const SharedLinks& world, const MaxMin& sharing) {
    std::vector<double> used(world.capacity.size());
    for (u32 at = 0; at < world.routes.size(); ++at) {
        for (std::size_t hop = 0; hop < world.routes[at].size(); ++hop) {
            const double each = world.flows[at] > 0 ? sharing.rate(at) : 0.0;
            used[world.routes[at][hop]] += world.share(at, hop) * each * world.flows[at];
        }
    }
    return used;
}

void are_touched(const MaxMin& sharing, const std::vector<double>& before, const std::vector<double>& after,
                 u64 step) {
    const auto touched = sharing.touched_links();
    for (u32 link = 0; link < after.size(); ++link) {
        check(before[link] == after[link] || std::ranges::find(touched, link) != touched.end(),
              "a link carries more or less and is not touched", step);
    }
}

void has_bottlenecks(const SharedLinks& world, const MaxMin& sharing, u64 step) {
    const std::vector<double> used = used_of(world, sharing);
    std::vector<double> highest(world.capacity.size());
    for (u32 at = 0; at < world.routes.size(); ++at) {
        for (const u32 link : world.routes[at]) {
            highest[link] = std::max(highest[link], world.flows[at] > 0 ? sharing.rate(at) / world.weights[at] : 0.0);
        }
    }
    for (u32 link = 0; link < used.size(); ++link) {
        check(used[link] <= world.capacity[link] * (1 + 1e-11), "a link carries more than it can", step);
    }
    for (u32 at = 0; at < world.routes.size(); ++at) {
        const bool found = std::any_of(world.routes[at].begin(), world.routes[at].end(), [&](u32 link) {
            return used[link] >= world.capacity[link] * (1 - 1e-11) &&
                   highest[link] <= sharing.rate(at) / world.weights[at] * (1 + 1e-11);
        });
        check(found || world.flows[at] == 0, "a flow without a bottleneck", step);
    }
}

void are_fair(const SharedLinks& world, const MaxMin& sharing, u64 step) {
    const std::vector<double> levels = test::slow_levels(world);
    for (u32 at = 0; at < levels.size(); ++at) {
        check(world.flows[at] == 0 || is_near(sharing.rate(at), levels[at] * world.weights[at]), "another rate", step);
    }
    has_bottlenecks(world, sharing, step);
}

void rates_are_fair_after_every_change(test::Random& random, bool ties, bool weighted, bool divided) {
    SharedLinks world;
    const u64 links = 2 + random.below(12);
    const auto capacity = [&] {
        return ties ? static_cast<double>(1 + random.below(2)) : 0.1 * static_cast<double>(1 + random.below(1000));
    };
    for (u64 link = 0; link < links; ++link) {
        world.capacity.push_back(capacity());
    }
    MaxMin sharing(world.capacity);
    for (u64 at = 1 + random.below(25); at > 0; --at) {
        std::vector<u32> route;
        for (u32 link = 0; link < links; ++link) {
            if (random.one_in(3)) {
                route.push_back(link);
            }
        }
        if (route.empty()) {
            route.push_back(static_cast<u32>(random.below(links)));
        }
        world.weights.push_back(weighted ? 1.0 / static_cast<double>(1 + random.below(7)) : 1.0);
        std::vector<double> shares;
        for (std::size_t hop = 0; divided && hop < route.size() && !random.one_in(4); ++hop) {
            shares.push_back(static_cast<double>(1 + random.below(6)) / 3.0);
        }
        shares.resize(shares.empty() ? 0 : route.size(), 1.0);
        check(sharing.add_class(route, world.weights.back(), shares) == world.routes.size(), "another number", at);
        if (divided) {
            shares.resize(route.size(), 1.0);
            world.shares.push_back(shares);
        }
        world.routes.push_back(route);
        world.flows.push_back(0);
    }
    sharing.keep_touched();
    std::vector<double> before(links);
    for (u64 step = 0; step < 60; ++step) {
        for (u64 changes = 1 + random.below(3); changes > 0; --changes) {
            const u32 at = static_cast<u32>(random.below(world.routes.size()));
            const u32 flows = random.one_in(3) ? 0 : static_cast<u32>(random.below(4));
            sharing.add_flows(at, i64{flows} - i64{world.flows[at]});
            world.flows[at] = flows;
            if (random.one_in(4)) {
                const u32 link = static_cast<u32>(random.below(links));
                world.capacity[link] = random.one_in(4) ? 0.0 : capacity();
                sharing.set_capacity(link, world.capacity[link]);
            }
        }
        sharing.solve();
        are_fair(world, sharing, step);
        const std::vector<double> after = used_of(world, sharing);
        are_touched(sharing, before, after, step);
        before = after;
    }
}

void what_changed_is_said(test::Random& random) {
    MaxMin sharing({3.0, 5.0, 7.0, 2.0});
    const std::vector<std::vector<u32>> routes{{0, 1}, {1, 2}, {2, 3}, {0, 3}, {1}, {2}};
    for (const auto& route : routes) {
        sharing.add_class(route, 1.0);
    }
    std::vector<u32> owner(routes.size(), none);
    std::vector<double> level(4, std::numeric_limits<double>::infinity());
    std::vector<u32> flows(routes.size());
    for (u64 step = 0; step < 300; ++step) {
        const u32 at = static_cast<u32>(random.below(routes.size()));
        const u32 now = static_cast<u32>(random.below(3));
        sharing.add_flows(at, i64{now} - i64{flows[at]});
        flows[at] = now;
        sharing.solve();
        for (u32 changed : sharing.changed_classes()) {
            owner[changed] = sharing.owner(changed);
        }
        for (u32 changed : sharing.changed_links()) {
            level[changed] = sharing.level(changed);
        }
        for (u32 of = 0; of < routes.size(); ++of) {
            check(owner[of] == sharing.owner(of), "an owner that changed unsaid", step);
            check(flows[of] == 0 || level[owner[of]] == sharing.rate(of), "a level that changed unsaid", step);
        }
    }
}

}  // namespace

int main() {
    test::Random random(0);
    for (u64 round = 0; round < 400; ++round) {
        rates_are_fair_after_every_change(random, round % 2 == 0, round % 4 >= 2, round % 8 >= 4);
    }
    what_changed_is_said(random);
}
