// Random flows over random tiers of switches, under random controls: times and counts of any parts,
// cut anywhere, are those of one simulator of all, to the bit; and the order in which flows of other
// hosts are listed changes nothing.
#include "network/packet/windows.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <numeric>
#include <string>
#include <vector>

#include "network/packet/test.hpp"
#include "network/packet/test_settings.hpp"

namespace {

using namespace yantra;
using namespace yantra::packet;
using namespace yantra::packet::lists;
using yantra::test::Random;

Case draw(Random& random) {
    Case of;
    of.leaves = static_cast<u32>(2 + random.below(3));
    of.hosts = static_cast<u32>(1 + random.below(6));
    of.spines = static_cast<u32>(1 + random.below(3));
    for (u64 left = 1 + random.below(4); left > 0; --left) {
        const std::vector<double> some{100.0, 250.0, 500.0, 1000.0};
        of.latencies.push_back(some[random.below(some.size())]);
    }
    of.settings =
        drawn_settings(random, {"static_window", "none", "dcqcn", "hpcc95", "hpcc_pint", "timely", "swift", "dctcp"});
    of.settings.skip = Skip::never;
    const bool follow = random.one_in(3);
    const bool in_step = random.one_in(3);   // many events of a tick
    const u64 to_one = random.one_in(3) ? 20 : 0;   // of 20: so that ports pause
    for (u64 left = 1 + random.below(60); left > 0; --left) {
        Sent sent;
        sent.from = static_cast<u32>(in_step ? left % of.all_hosts() : random.below(of.all_hosts()));
        sent.to = static_cast<u32>((sent.from + 1 + random.below(of.all_hosts() - 1)) % of.all_hosts());
        sent.to = random.below(20) < to_one && sent.from != 0 ? 0 : sent.to;
        sent.bytes = static_cast<double>(in_step ? 30000 : 1 + random.below(60000));
        sent.start_ns = in_step ? 0.0 : static_cast<double>(100 * random.below(10));
        sent.spine = static_cast<u32>(random.below(of.spines));
        if (follow && !of.flows.empty() && random.one_in(2)) {
            sent.after = static_cast<u32>(random.below(of.flows.size()));
            sent.from = random.one_in(2) ? of.flows[sent.after].from : sent.from;
            sent.to = sent.to == sent.from ? (sent.from + 1) % of.all_hosts() : sent.to;
        }
        of.flows.push_back(sent);
    }
    return of;
}

// Devices that know of each other at once stay together: what flows wait for.
std::vector<u8> draw_parts(Random& random, const Case& of) {
    std::vector<u32> group(of.devices());
    std::iota(group.begin(), group.end(), 0U);
    for (const Sent& sent : of.flows) {
        if (sent.after != none) {
            const u32 before = group[of.flows[sent.after].from];
            const u32 own = group[sent.from];
            std::replace(group.begin(), group.end(), own, before);
        }
    }
    const u64 parts = 2 + random.below(4);
    std::vector<u8> part_of_group(of.devices());
    for (u8& part : part_of_group) {
        part = static_cast<u8>(random.below(parts));
    }
    part_of_group[group[0]] = 0;
    std::vector<u8> part_of;
    for (u32 device = 0; device < of.devices(); ++device) {
        part_of.push_back(part_of_group[group[device]]);
    }
    return part_of;
}

// Flows of other hosts, in another order; those of one host stay in theirs.
void check_order_of_list(Random& random, const Case& of, const PacketRun& before, u64 number) {
    std::vector<u64> turn(of.all_hosts());
    for (u64& one : turn) {
        one = random.below(1000);
    }
    std::vector<u32> order(of.flows.size());
    std::iota(order.begin(), order.end(), 0U);
    std::stable_sort(order.begin(), order.end(), [&](u32 one, u32 other) {
        return turn[of.flows[one].from] < turn[of.flows[other].from];
    });
    Case moved = of;
    for (std::size_t at = 0; at < order.size(); ++at) {
        moved.flows[at] = of.flows[order[at]];
    }
    const auto after = run(moved, {});
    for (std::size_t at = 0; at < order.size(); ++at) {
        check(after->end_ns()[at] == before.end_ns()[order[at]], "the order of a list matters", number);
    }
}

}  // namespace

int main(int count, char** arguments) {
    const u64 cases = count > 1 ? std::strtoull(arguments[1], nullptr, 10) : 60;
    Random random(32);
    u64 parted = 0;
    u64 begun_again = 0;
    u64 pauses = 0;
    for (u64 number = 0; number < cases; ++number) {
        const Case of = draw(random);
        const auto alone = run(of, {});
        check(alone->partition().parts == 1, "one thread was asked for", number);
        const auto parts = run(of, {1, 1, draw_parts(random, of)});
        check_equal(*alone, *parts, number);
        const std::vector<u32> some{2, 3, 8};
        const auto threads = run(of, {some[random.below(some.size())], 1, {}});
        check_equal(*alone, *threads, number);
        parted += (parts->partition().parts > 1 ? 1U : 0U) + (threads->partition().parts > 1 ? 1U : 0U);
        begun_again += parts->partition().why.starts_with("begun again") ? 1 : 0;
        for (const PortCount& port : alone->counts().ports) {
            pauses += port.pauses;
        }
        const bool goes_by_number = of.settings.queue == "drr";
        const bool follows = std::any_of(of.flows.begin(), of.flows.end(), [](const Sent& s) { return s.after != none; });
        if (!goes_by_number && !follows) {
            check_order_of_list(random, of, *alone, number);
        }
    }
    std::printf("%llu runs in parts, %llu begun again, %llu pauses\n", static_cast<unsigned long long>(parted),
                static_cast<unsigned long long>(begun_again), static_cast<unsigned long long>(pauses));
    check(parted > cases, "few runs were parted", parted);
    check(pauses > 0, "no port paused", pauses);
}
