// Flows end when a step-by-step simulation says that fills all rates anew after every change.
// needs: network/flow/flow_run.cpp, network/flow/max_min.cpp, network/flow/sharing.cpp
#include "network/flow/flow_list.hpp"

#include <cmath>
#include <limits>
#include <stdexcept>
#include <vector>

#include "base/test.hpp"
#include "network/flow/test.hpp"

namespace {

using namespace yantra;
using test::check;

constexpr double never_ns = std::numeric_limits<double>::infinity();

struct Case {
    std::vector<double> bytes_per_ns;
    std::vector<double> latency_ns;
    std::vector<std::vector<u32>> routes;
    std::vector<double> bytes;
    std::vector<double> start_ns;
    std::vector<RateChange> changes;
    bool rtt_fairness = false;

    double latency(std::size_t flow) const {
        double sum = 0.0;
        for (u32 link : routes[flow]) {
            sum += latency_ns[link];
        }
        return sum;
    }
    std::vector<double> run() const {
        FlowList list{{0}, {}, bytes, start_ns};
        for (const std::vector<u32>& route : routes) {
            list.hops.insert(list.hops.end(), route.begin(), route.end());
            list.first_hop.push_back(list.hops.size());
        }
        const auto run = share_flows(list, {bytes_per_ns, latency_ns}, rtt_fairness, changes);
        while (!run->run_for(7)) {
        }
        return run->end_ns();
    }
};

std::vector<double> slow_run(const Case& of) {
    const std::size_t count = of.routes.size();
    test::SharedLinks world{of.bytes_per_ns, of.routes, {}, std::vector<u32>(count)};
    std::vector<double> left = of.bytes;
    std::vector<double> end(count, never_ns);
    for (std::size_t flow = 0; flow < count; ++flow) {
        world.weights.push_back(of.rtt_fairness ? 0.5 / of.latency(flow) : 1.0);
    }
    std::size_t changed = 0;
    for (double now = 0.0;;) {
        const std::vector<double> level = test::slow_levels(world);
        double next = changed < of.changes.size() ? of.changes[changed].at_ns : never_ns;
        for (std::size_t flow = 0; flow < count; ++flow) {
            const double enters = of.start_ns[flow] + of.latency(flow);
            if (world.flows[flow] > 0) {
                next = std::min(next, now + left[flow] / (level[flow] * world.weights[flow]));
            } else if (end[flow] == never_ns && enters >= now) {
                next = std::min(next, enters);
            }
        }
        if (next == never_ns) {
            return end;
        }
        for (std::size_t flow = 0; flow < count; ++flow) {
            if (world.flows[flow] > 0) {
                left[flow] -= level[flow] * world.weights[flow] * (next - now);
                if (left[flow] <= 1e-9 * of.bytes[flow]) {
                    end[flow] = next;
                    world.flows[flow] = 0;
                }
            } else if (end[flow] == never_ns && of.start_ns[flow] + of.latency(flow) == next) {
                world.flows[flow] = 1;
            }
        }
        for (; changed < of.changes.size() && of.changes[changed].at_ns == next; ++changed) {
            world.capacity[of.changes[changed].link] = of.changes[changed].bytes_per_ns;
        }
        now = next;
    }
}

bool is_near(double a, double b) { return a == b || std::abs(a - b) <= 1e-9 * std::abs(b); }

Case any_case(test::Random& random, bool ties) {
    Case made;
    const u64 links = 2 + random.below(8);
    for (u64 link = 0; link < links; ++link) {
        made.bytes_per_ns.push_back(ties ? 2.0 : 0.1 * static_cast<double>(1 + random.below(100)));
        made.latency_ns.push_back(static_cast<double>(1 + random.below(ties ? 2 : 100)));
    }
    for (u64 flow = 1 + random.below(30); flow > 0; --flow) {
        std::vector<u32> route;
        for (u32 link = 0; link < links; ++link) {
            if (random.one_in(3)) {
                route.push_back(link);
            }
        }
        if (route.empty()) {
            route.push_back(0);
        }
        made.routes.push_back(route);
        made.bytes.push_back(static_cast<double>(1000 * (1 + random.below(ties ? 3 : 900))));
        made.start_ns.push_back(static_cast<double>(random.below(ties ? 3 : 20'000)));
    }
    double at_ns = 0.0;
    for (u64 change = random.below(4); change > 0; --change) {
        at_ns += static_cast<double>(1 + random.below(5000)) + 0.5;
        const u32 link = static_cast<u32>(random.below(links));
        made.changes.push_back({at_ns, link, random.one_in(3) ? 0.0 : 1.0});
    }
    made.rtt_fairness = random.one_in(3);
    return made;
}

void equals_the_slow_one(test::Random& random) {
    for (u64 step = 0; step < 300; ++step) {
        const Case of = any_case(random, step % 2 == 0);
        const std::vector<double> fast = of.run();
        const std::vector<double> slow = slow_run(of);
        for (std::size_t flow = 0; flow < fast.size(); ++flow) {
            check(is_near(fast[flow], slow[flow]), "a flow is through at another time", step);
        }
    }
}

void one_alone_takes_its_latency_and_its_bytes() {
    const Case alone{{10.0, 2.5, 5.0}, {100.0, 20.0, 3.0}, {{0, 1, 2}}, {1000.0}, {50.0}, {}, false};
    check(alone.run()[0] == 50.0 + 123.0 + 400.0, "one alone takes another time", 0);
    const Case nothing{{10.0}, {100.0}, {{0}, {}}, {0.0, 5.0}, {50.0, 7.0}, {}, false};
    check(nothing.run() == std::vector<double>{150.0, 7.0}, "no bytes take time", 0);
}

void flows_end_however_late(test::Random& random) {
    Case late{{50.0, 0.01, 7.3}, {100.0, 20.0, 3.0}, {}, {}, {}, {}, false};
    late.routes.push_back({0, 2});   // keeps its links busy from the start
    late.bytes.push_back(1e11);
    late.start_ns.push_back(0.0);
    for (u32 flow = 0; flow < 200; ++flow) {
        late.routes.push_back(flow % 2 == 0 ? std::vector<u32>{0, 1} : std::vector<u32>{0});
        late.bytes.push_back(0.001 * static_cast<double>(1 + random.below(5000)));
        late.start_ns.push_back(8e9 + 0.37 * static_cast<double>(random.below(1000)));
    }
    const std::vector<double> ended = late.run();
    for (u32 flow = 1; flow < ended.size(); ++flow) {
        check(ended[flow] >= late.start_ns[flow] && ended[flow] < late.start_ns[flow] + 1e6, "a late flow", flow);
    }
}

void a_link_that_fails_and_returns() {
    const Case of{{10.0}, {0.0}, {{0}}, {1000.0}, {0.0}, {{30.0, 0, 0.0}, {80.0, 0, 5.0}}, false};
    check(of.run()[0] == 80.0 + 140.0, "a link that fails and returns", 0);
    const Case never{{10.0}, {0.0}, {{0}}, {1000.0}, {0.0}, {{30.0, 0, 0.0}}, false};
    check(never.run()[0] == never_ns, "a link that is down carries", 0);
}

void what_is_no_flow_is_refused() {
    const auto is_refused = [](std::vector<u32> route, double bytes, double start) {
        try {
            Case{{1.0}, {1.0}, {std::move(route)}, {bytes}, {start}, {}, false}.run();
            return false;
        } catch (const std::invalid_argument&) {
            return true;
        }
    };
    check(is_refused({1}, 1.0, 0.0), "a link that is not there", 0);
    check(is_refused({0, 0}, 1.0, 0.0), "a link taken twice", 0);
    check(is_refused({0}, -1.0, 0.0), "bytes below 0", 0);
    check(is_refused({0}, 1.0, never_ns), "a start that is no time", 0);
}

}  // namespace

int main() {
    test::Random random(0);
    equals_the_slow_one(random);
    one_alone_takes_its_latency_and_its_bytes();
    flows_end_however_late(random);
    a_link_that_fails_and_returns();
    what_is_no_flow_is_refused();
}
