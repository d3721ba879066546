// Links that fail, return or slow down, and background traffic, by hand: 1,000,000 bytes over two
// links of 10 bytes/ns and 100 ns each take 200 ns and 100,000 ns.
// needs: the parts of a run
#include "network/flow/level/flow_network.hpp"

#include <algorithm>
#include <limits>
#include <memory>
#include <optional>
#include <vector>

#include "base/test.hpp"

namespace {

using namespace yantra;
using test::check;

constexpr u64 bytes = 1'000'000;
constexpr u64 never_arrived = ~u64{0};

struct Change {
    u64 at_ns;
    u32 link;
    double rate;
};

// Link 4 s goes from rank 0 to switch s, 4 s + 1 on to rank 1, and the two behind them go back.
NetworkParameters two_ranks(u32 switches, const std::vector<Change>& changes, u64 delay_ns, double bytes_per_ns = 10.0) {
    FabricColumns columns;
    columns.ranks = 2;
    columns.kinds = {0, 0};
    columns.labels = {"up", "down"};
    for (u32 at = 0; at < switches; ++at) {
        columns.kinds.push_back(1);
        const u32 ends[4][2] = {{0, 2 + at}, {2 + at, 1}, {1, 2 + at}, {2 + at, 0}};
        for (const auto& [from, to] : ends) {
            columns.from.push_back(from);
            columns.to.push_back(to);
            columns.bytes_per_ns.push_back(bytes_per_ns);
            columns.latency_ns.push_back(100.0);
            columns.buffer_bytes.push_back(0);
            columns.label.push_back(from < 2 ? 0 : 1);
            columns.weight.push_back(1.0);
        }
    }
    NetworkParameters parameters;
    parameters.dimensions = {{Block::ring, 2, 1.0, 1.0, 1.0}};
    parameters.tables = {nullptr};
    parameters.fabric = std::make_shared<const FabricGraph>(columns);
    parameters.routing.name = "shortest";
    parameters.placement = {0, 1};
    for (const Change& change : changes) {
        parameters.link_changes.push_back({1000 * change.at_ns, change.link, change.rate});
    }
    parameters.reroute_delay = 1000 * delay_ns;
    return parameters;
}

const Semantics semantics{TimeScale::picoseconds(), {}};
Disturbance disturbance;   // of the last run

std::vector<u64> arrivals(const NetworkParameters& parameters, const std::vector<u64>& sent_ns,
                          u64 step, flow::Options options = {}) {
    const Grid grid(parameters.dimensions, parameters.tables);
    Engine engine(1);
    FlowNetwork network({parameters, semantics, grid, engine}, std::make_unique<Ways>(parameters, grid), options);
    std::vector<u64> arrived(sent_ns.size(), never_arrived);
    std::vector<u64> departed(sent_ns.size(), never_arrived);
    for (u32 at = 0; at < sent_ns.size(); ++at) {
        engine.queue.schedule(1000 * sent_ns[at], {Owner::execution, 0}, at);
    }
    while (!engine.queue.empty()) {
        const Event event = engine.queue.next();
        if (event.kind.owner() == Owner::network) {
            network.handle(event);
        } else if (event.kind.owner() == Owner::execution) {
            network.send({RankId(0), RankId(1), bytes}, {{Owner::transport, 0}, event.index},
                         {{Owner::transport, 1}, event.index});
        } else {
            (event.kind.kind() == 0 ? arrived : departed)[event.index] = engine.now() / 1000;
        }
    }
    const u64 there = static_cast<u64>(std::count_if(arrived.begin(), arrived.end(),
                                                     [](u64 at) { return at != never_arrived; }));
    const std::vector<LinkUse> uses = network.dimensions();
    if (there == arrived.size()) {
        check(uses[0].bytes == bytes * there && uses[1].bytes == bytes * there, "bytes came or went", step);
        for (std::size_t at = 0; at < arrived.size(); ++at) {
            check(departed[at] <= arrived[at], "a message leaves after it arrived", step);
        }
    }
    disturbance = network.report().disturbance;
    return arrived;
}

struct Case {
    u32 switches;
    std::vector<Change> changes;
    u64 delay_ns;
    std::vector<u64> sent_ns;
    std::vector<u64> arrived_ns;
    u64 rerouted = 0;   // messages
    u64 waited = 0;
    u64 waited_ns = 0;  // all of them together
};

std::vector<Change> all_of(u32 at_switch, u64 at_ns, double rate) {
    std::vector<Change> changes;
    for (u32 link = 4 * at_switch; link < 4 * at_switch + 4; ++link) {
        changes.push_back({at_ns, link, rate});
    }
    return changes;
}

std::vector<Change> joined(std::vector<std::vector<Change>> of) {
    std::vector<Change> all;
    for (const std::vector<Change>& part : of) {
        all.insert(all.end(), part.begin(), part.end());
    }
    return all;
}

const std::vector<Case>& cases() {
    static const std::vector<Case> all{
        // nothing happens
        {1, {}, 0, {0}, {100'200}},
        // down for 50 us, and no other way
        {1, {{30'200, 0, 0.0}, {80'200, 0, 10.0}}, 1'000, {0}, {150'200}, 0, 1, 50'000},
        // the second link of the way
        {1, {{30'200, 1, 0.0}, {80'200, 1, 10.0}}, 1'000, {0}, {150'200}, 0, 1, 50'000},
        // half the rate from then on
        {1, {{30'200, 0, 5.0}}, 1'000, {0}, {170'200}},
        // never again
        {1, {{30'200, 0, 0.0}}, 1'000, {0}, {never_arrived}, 0, 1, 0},
        // the other way after 10 us: 700,000 bytes are left
        {2, {{30'200, 0, 0.0}}, 10'000, {0}, {110'200}, 1, 1, 10'000},
        // back before that: nothing moves
        {2, {{30'200, 0, 0.0}, {35'200, 0, 10.0}}, 10'000, {0}, {105'200}, 0, 1, 5'000},
        // it flaps: 5 us and 7 us are lost
        {1, {{10'200, 0, 0.0}, {15'200, 0, 10.0}, {40'200, 0, 0.0}, {47'200, 0, 10.0}}, 1'000, {0}, {112'200},
         0, 1, 12'000},
        // sent while the link is known to be down: the other way at once
        {2, {{1'000, 0, 0.0}}, 1'000, {5'000}, {105'200}},
        // sent while it is not known yet: it waits for the other way
        {2, {{1'000, 0, 0.0}}, 10'000, {5'000}, {111'000}, 1, 1, 5'800},
        // two that shared the one way share the other: 850,000 bytes each are left, at half the rate
        {2, {{30'200, 0, 0.0}}, 10'000, {0, 0}, {210'200, 210'200}, 2, 2, 20'000},
        // sent before and after the return, each on its own way
        {2, {{1'000, 0, 0.0}, {20'000, 0, 10.0}}, 0, {5'000, 30'000}, {105'200, 130'200}},
        // a link that is not on the way
        {2, {{30'200, 4, 0.0}}, 1'000, {0}, {100'200}},
        // both ways down, the first returns
        {2, {{30'200, 0, 0.0}, {30'200, 4, 0.0}, {60'200, 0, 10.0}}, 1'000, {0}, {130'200}, 0, 1, 30'000},
        // a switch: its message goes by the other after 10 us
        {2, all_of(0, 30'200, 0.0), 10'000, {0}, {110'200}, 1, 1, 10'000},
        // a switch that returns before anyone knows
        {2, joined({all_of(0, 30'200, 0.0), all_of(0, 33'200, 10.0)}), 10'000, {0}, {103'200}, 0, 1, 3'000},
        // a switch that is slower: no message waits, and none goes round
        {2, all_of(0, 50'200, 2.5), 10'000, {0}, {250'200}, 0, 0, 0},
        // both switches, which is all that the ranks have, for 20 us
        {2, joined({all_of(0, 30'200, 0.0), all_of(1, 30'200, 0.0), all_of(0, 50'200, 10.0), all_of(1, 50'200, 10.0)}),
         0, {0}, {120'200}, 0, 1, 20'000},
        // fails behind the end
        {2, all_of(0, 200'000, 0.0), 0, {0}, {100'200}, 0, 0, 0},
        // sent while nothing was under way and a failure has passed: it finds the links as they are
        {2, joined({all_of(0, 200'000, 0.0), all_of(0, 300'000, 10.0)}), 0, {0, 250'000}, {100'200, 350'200}, 0, 0, 0},
    };
    return all;
}

void background_shares_links_and_delays_nothing_else() {
    struct Beside {
        u64 at_ns;
        u64 bytes;
        u32 from;
        u64 arrived_ns;
        u64 carried;   // of it, until then, over the first link
    };
    const Beside cases[] = {
        {0, 1'000'000, 0, 200'200, 1'000'000},     // half the rate, both end together
        {0, 500'000, 0, 150'200, 500'000},       // half until it is through, at 100 us
        {60'000, 1'000'000, 0, 140'200, 400'000},   // from 60.2 us on: 400,000 bytes were left
        {0, 1'000'000, 1, 100'200, 1'000'000},     // the other way round, so over other links
        {200'000, 1'000'000, 0, 100'200, 0},   // never begins, as the message is there
    };
    u64 step = 100;
    for (const Beside& of : cases) {
        NetworkParameters parameters = two_ranks(1, {}, 0);
        parameters.background = {{1000 * of.at_ns, of.from, 1 - of.from, of.bytes}};
        const Grid grid(parameters.dimensions, parameters.tables);
        Engine engine(1);
        FlowNetwork network({parameters, semantics, grid, engine}, std::make_unique<Ways>(parameters, grid), {});
        u64 arrived = never_arrived;
        engine.done_at = [&arrived] {
            return arrived != never_arrived ? std::optional(1000 * arrived) : std::nullopt;
        };
        network.send({RankId(0), RankId(1), bytes}, {{Owner::transport, 0}, 0}, {});
        while (!engine.queue.empty()) {
            const Event event = engine.queue.next();
            if (event.kind.owner() == Owner::network) {
                network.handle(event);
            } else {
                arrived = engine.now() / 1000;
            }
        }
        check(arrived == of.arrived_ns, "a message beside background arrives at another time", step);
        check(network.dimensions()[0].bytes == bytes + of.carried, "bytes of the background came or went", step);
        for (u64 busy : network.report().busiest) {
            check(busy <= 1000 * of.arrived_ns, "a link is busy for longer than the run takes", step);
        }
        ++step;
    }
}

void links_by_formula_are_shared_by_nobody() {
    NetworkParameters parameters = two_ranks(1, {}, 0);
    parameters.formula_groups = {true, true};
    check(arrivals(parameters, {0, 0, 50'000}, 200) == std::vector<u64>{100'200, 100'200, 150'200},
          "messages by formula delay each other", 200);
    parameters.formula_groups = {false, true};
    check(arrivals(parameters, {0, 0}, 201) == std::vector<u64>{200'200, 200'200}, "a shared link is not shared", 201);
    check(arrivals(parameters, {0}, 202) == std::vector<u64>{100'200}, "a message alone misses its formula", 202);
}

void messages_in_order_follow_each_other() {
    flow::Options options;
    options.in_order = true;
    NetworkParameters parameters = two_ranks(1, {}, 0);
    const std::vector<u64> one_after_the_other{100'200, 200'200, 300'200};
    check(arrivals(parameters, {0, 0, 0}, 300, options) == one_after_the_other, "messages in order share", 300);
    check(arrivals(parameters, {0, 150'000}, 301, options) == std::vector<u64>{100'200, 250'200},
          "a message waits for one that is through", 301);
    check(arrivals(parameters, {0, 40'000, 50'000}, 302, options) == one_after_the_other,
          "messages overtake each other", 302);
    parameters.formula_groups = {true, true};
    check(arrivals(parameters, {0, 0, 0}, 303, options) == one_after_the_other, "by formula they do not wait", 303);
    parameters = two_ranks(1, {{20'200, 0, 0.0}, {50'200, 0, 10.0}, {140'200, 0, 0.0}, {190'200, 0, 10.0}}, 0);
    check(arrivals(parameters, {0, 0}, 304, options) == std::vector<u64>{130'200, 280'200}, "a failure in between", 304);
    check(disturbance.waited == 2 && disturbance.waited_ticks == 80'000'000, "what waits in line waits twice", 304);
    parameters = two_ranks(1, {}, 0, std::numeric_limits<double>::infinity());
    check(arrivals(parameters, {0, 0, 0}, 305, options) == std::vector<u64>{200, 200, 200},
          "over links without limit a message in line is lost, or takes time", 305);
}

}  // namespace

int main() {
    u64 step = 0;
    for (const Case& of : cases()) {
        const NetworkParameters parameters = two_ranks(of.switches, of.changes, of.delay_ns);
        check(arrivals(parameters, of.sent_ns, step) == of.arrived_ns, "a message arrives at another time", step);
        check(disturbance.rerouted == of.rerouted, "others went round", step);
        check(disturbance.waited == of.waited, "others waited", step);
        check(disturbance.waited_ticks == 1000 * of.waited_ns, "they waited for another time", step);
        ++step;
    }
    background_shares_links_and_delays_nothing_else();
    links_by_formula_are_shared_by_nobody();
    messages_in_order_follow_each_other();
}
