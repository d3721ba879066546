// A way keeps its number; what differs in anything has another.
#include <vector>

#include "network/flow/level/known_ways.hpp"

#include "base/test.hpp"

int main() {
    using namespace yantra;
    test::Random random(0);
    flow::KnownWays known;
    std::vector<Way> slow;
    for (u64 step = 0; step < 20'000; ++step) {
        Way way;
        way.latency_ns = static_cast<double>(random.below(2));
        for (u64 hops = random.below(5); hops > 0; --hops) {
            way.links.push_back(static_cast<u32>(random.below(4)));
        }
        for (std::size_t at = 0; step % 2 == 0 && at < way.links.size(); ++at) {
            way.parts.push_back({0.5, 1.0 + static_cast<double>(random.below(2)), 2});
        }
        std::size_t expected = 0;
        while (expected < slow.size() && !(slow[expected] == way)) {
            ++expected;
        }
        test::check(known.id(way).index() == expected, "another number", step);
        if (expected == slow.size()) {
            slow.push_back(way);
        }
    }
    test::check(known.size() == slow.size(), "another count", slow.size());
    for (u32 at = 0; at < known.size(); ++at) {
        const flow::RouteId route(at);
        test::check(std::ranges::equal(known.links(route), slow[at].links, {}, &LinkId::index), "other links", at);
        test::check(known.latency_ns(route) == slow[at].latency_ns, "another latency", at);
        std::size_t hop = 0;
        known.visit(route, [&](LinkId link, const Way::Part& part) {
            test::check(link.index() == slow[at].links[hop] && part == slow[at].part(hop), "another part", at);
            ++hop;
        });
        test::check(hop == slow[at].links.size(), "another length", at);
    }
}
