// Random lists of which some flows meet and many are alike: times and counts are those of a run that
// skips nothing, to the bit, and much is skipped.
#include "network/packet/apart.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "network/packet/test.hpp"

namespace {

using namespace yantra;
using namespace yantra::packet;
using namespace yantra::packet::lists;
using yantra::test::Random;

Settings draw_settings(Random& random) {
    const std::vector<std::string> presets{"static_window", "none", "dcqcn", "hpcc95", "timely", "swift"};
    std::map<std::string, double> options;
    if (random.one_in(3)) {
        options["acks_first"] = 1.0;
    }
    if (random.one_in(4)) {
        options["buffer"] = 400000.0;
    }
    return settings_of(presets[random.below(presets.size())], 100.0, "", options);
}

// Groups of flows of few kinds, far apart or not, at random places: lone ones, pairs that share a link in
// either direction, and all to all of a leaf.
Case draw(Random& random) {
    Case of;
    of.leaves = static_cast<u32>(2 + random.below(3));
    of.hosts = static_cast<u32>(2 + random.below(4));
    of.spines = static_cast<u32>(1 + random.below(3));
    for (u64 left = 1 + random.below(2); left > 0; --left) {
        const std::vector<double> some{100.0, 250.0, 500.0, 1000.0};
        of.latencies.push_back(some[random.below(some.size())]);
    }
    of.settings = draw_settings(random);
    const double one_size = 1.0 + static_cast<double>(random.below(30000));
    const std::vector<double> sizes{one_size, random.one_in(2) ? one_size : 1.0 + static_cast<double>(random.below(3000))};
    const u64 apart_ns = random.one_in(2) ? 40000 : 2000 + random.below(20000);   // between groups: some meet
    const u64 kinds = 1 + random.below(3);
    const u64 groups = 10 + random.below(40);
    double start = 0.0;
    for (u64 group = 0; group < groups; ++group) {
        const u32 leaf = static_cast<u32>(random.below(of.leaves));
        const u32 host = leaf * of.hosts + static_cast<u32>(random.below(of.hosts));
        const u32 other = static_cast<u32>((host + 1 + random.below(of.all_hosts() - 1)) % of.all_hosts());
        const u32 spine = static_cast<u32>(random.below(of.spines));
        const double bytes = sizes[random.below(2)];
        switch (random.below(kinds)) {
            case 0: of.flows.push_back({host, other, bytes, start, spine, none}); break;
            case 1:
                of.flows.push_back({host, other, bytes, start, spine, none});
                of.flows.push_back({other, host, bytes, start + 100.0 * static_cast<double>(random.below(2)), spine, none});
                break;
            default:
                for (u32 one = 0; one < of.hosts; ++one) {
                    for (u32 two = 0; two < of.hosts; ++two) {
                        if (one != two) {
                            of.flows.push_back({leaf * of.hosts + one, leaf * of.hosts + two, bytes, start, 0, none});
                        }
                    }
                }
        }
        start += static_cast<double>(random.below(2 * apart_ns));
    }
    return of;
}

}  // namespace

int main(int count, char** arguments) {
    const u64 cases = count > 1 ? std::strtoull(arguments[1], nullptr, 10) : 200;
    Random random(4);
    u64 skips = 0;
    u64 skipped = 0;
    u64 packets = 0;
    for (u64 number = 0; number < cases; ++number) {
        Case of = draw(random);
        const auto apart = run(of, {});
        of.settings.skip = Skip::never;
        const auto whole = run(of, {});
        check_equal(*whole, *apart, number);
        check(whole->counts().totals.skipped == 0, "skipped where it is off", number);
        skips += apart->counts().totals.skipped > 0 ? 1 : 0;
        skipped += apart->counts().totals.skipped;
        packets += apart->counts().totals.packets;
    }
    std::printf("%llu of %llu lists, %llu of %llu packets skipped\n", static_cast<unsigned long long>(skips),
                static_cast<unsigned long long>(cases), static_cast<unsigned long long>(skipped),
                static_cast<unsigned long long>(packets));
    check(5 * skips > cases && 10 * skipped > packets, "little was skipped", skips);
}
