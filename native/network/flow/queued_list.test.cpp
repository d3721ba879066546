// Flows end, and links carry, as a walk over all hops in order of time says.
// needs: network/flow/flow_run.cpp, network/flow/flow_list.cpp, network/flow/max_min.cpp, network/flow/sharing.cpp
#include "network/flow/queued_list.hpp"

#include <cmath>
#include <vector>

#include "base/test.hpp"
#include "network/flow/flow_list.hpp"

namespace {

using namespace yantra;
using test::check;

struct Case {
    FlowList list;
    LinkSpeeds links;
};

Case any_case(test::Random& random) {
    Case made;
    const u64 links = 2 + random.below(8);
    for (u64 link = 0; link < links; ++link) {
        made.links.bytes_per_ns.push_back(0.5 * static_cast<double>(1 + random.below(20)));
        made.links.latency_ns.push_back(static_cast<double>(random.below(100)));
    }
    made.list.first_hop = {0};
    for (u64 flow = 1 + random.below(30); flow > 0; --flow) {
        for (u32 link = 0; link < links; ++link) {
            if (random.one_in(3)) {
                made.list.hops.push_back(link);
            }
        }
        made.list.first_hop.push_back(made.list.hops.size());
        made.list.bytes.push_back(static_cast<double>(random.below(900) * 1000));
        made.list.start_ns.push_back(static_cast<double>(random.below(20'000)));
    }
    return made;
}

// No two of the cases' times are equal.
std::vector<double> slow_run(const Case& of) {
    const std::size_t count = of.list.bytes.size();
    std::vector<double> there = of.list.start_ns;
    std::vector<std::size_t> hop(count);
    std::vector<double> free_ns(of.links.bytes_per_ns.size());
    for (;;) {
        std::size_t first = count;
        for (std::size_t flow = 0; flow < count; ++flow) {
            if (hop[flow] < of.list.route(flow).size() && (first == count || there[flow] < there[first])) {
                first = flow;
            }
        }
        if (first == count) {
            return there;
        }
        const u32 link = of.list.route(first)[hop[first]++];
        const double begins = std::max(there[first], free_ns[link]);
        free_ns[link] = begins + of.list.bytes[first] / of.links.bytes_per_ns[link];
        there[first] = free_ns[link] + of.links.latency_ns[link];
    }
}

void equals_the_slow_one(test::Random& random) {
    for (u64 step = 0; step < 300; ++step) {
        Case of = any_case(random);
        for (double& start : of.list.start_ns) {   // so that no two come at once
            start += 0.001 * static_cast<double>(random.below(1000));
        }
        const auto run = queue_flows(of.list, of.links);
        while (!run->run_for(1 + random.below(9))) {
        }
        const std::vector<double> slow = slow_run(of);
        for (std::size_t flow = 0; flow < slow.size(); ++flow) {
            const double rounding = 0.001 * static_cast<double>(of.list.hops.size());
            check(std::abs(run->end_ns()[flow] - slow[flow]) <= rounding, "a flow is through at another time", step);
        }
    }
}

void links_carry_the_bytes_of_their_flows(test::Random& random) {
    for (u64 step = 0; step < 300; ++step) {
        const Case of = any_case(random);
        const bool is_queued = random.one_in(2);
        const auto run = is_queued ? queue_flows(of.list, of.links, true)
                                   : share_flows(of.list, of.links, random.one_in(3), {}, true);
        u64 through = 0;
        for (bool over = false; !over;) {
            over = run->run_for(1 + random.below(9));
            through += run->take_ended().size();
        }
        check(through == of.list.bytes.size() && run->ended() == through, "a flow is told twice, or never", step);
        const std::size_t links = of.links.bytes_per_ns.size();
        std::vector<double> left(links);
        for (std::size_t flow = 0; flow < of.list.bytes.size(); ++flow) {
            for (u32 link : of.list.route(flow)) {
                left[link] += of.list.bytes[flow];
            }
        }
        std::vector<double> until(links, -1.0);
        for (std::size_t at = 0; at < run->series().stretches().size(); ++at) {
            const LinkStretch& stretch = run->series().stretches()[at];
            check(stretch.from_ns >= until[stretch.link] && stretch.to_ns > stretch.from_ns, "times overlap", step);
            check(stretch.bytes_per_ns <= of.links.bytes_per_ns[stretch.link] * (1.0 + 1e-9), "above its rate", step);
            until[stretch.link] = stretch.to_ns;
            left[stretch.link] -= stretch.bytes_per_ns * (stretch.to_ns - stretch.from_ns);
        }
        for (double bytes : left) {
            check(std::abs(bytes) <= 1.0, "a link carried other bytes", step);
        }
    }
}

}  // namespace

int main() {
    test::Random random(0);
    equals_the_slow_one(random);
    links_carry_the_bytes_of_their_flows(random);
}
