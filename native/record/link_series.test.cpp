// Stretches of a link adjoin, neighbours differ, and the rate is the last one set.
#include "record/link_series.hpp"

#include <algorithm>
#include <vector>

#include "base/test.hpp"

namespace {

using namespace yantra;
using test::check;

struct Set {
    u32 link;
    double at_ns;
    double rate;
};

double last_set(const std::vector<Set>& sets, u32 link, double at_ns) {
    double rate = 0.0;
    for (const Set& set : sets) {
        rate = set.link == link && set.at_ns <= at_ns ? set.rate : rate;
    }
    return rate;
}

void is_what_was_set(test::Random& random) {
    for (u64 step = 0; step < 500; ++step) {
        const u32 links = static_cast<u32>(1 + random.below(3));
        LinkSeries series(links);
        std::vector<Set> sets;
        double now = 0.0;
        for (u64 left = random.below(30); left > 0; --left) {
            now += static_cast<double>(random.below(3));   // some at the same time
            sets.push_back({static_cast<u32>(random.below(links)), now, static_cast<double>(random.below(3))});
            series.set(sets.back().link, now, sets.back().rate);
        }
        now += 1.0;
        series.finish(now);
        series.finish(now);   // once more changes nothing
        std::vector<LinkStretch> before(links);
        std::vector<double> carried(links);
        for (std::size_t at = 0; at < series.stretches().size(); ++at) {
            const LinkStretch& one = series.stretches()[at];
            LinkStretch& last = before[one.link];
            check(one.from_ns >= last.to_ns && one.to_ns > one.from_ns, "out of order, or empty", step);
            check(one.bytes_per_ns > 0.0, "a stretch in which nothing is carried", step);
            check(one.from_ns > last.to_ns || one.bytes_per_ns != last.bytes_per_ns, "two that are one", step);
            check(last_set(sets, one.link, one.from_ns) == one.bytes_per_ns, "another rate", step);
            last = one;
            carried[one.link] += one.bytes_per_ns * (one.to_ns - one.from_ns);
        }
        for (u32 link = 0; link < links; ++link) {
            double expected = 0.0;   // times are whole
            for (double at = 0.0; at < now; at += 1.0) {
                expected += last_set(sets, link, at);
            }
            check(carried[link] == expected, "bytes are lost", step);
        }
    }
}

}  // namespace

int main() {
    test::Random random(0);
    is_what_was_set(random);
}
