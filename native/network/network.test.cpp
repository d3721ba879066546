// Laws of every registered level: a message alone takes its hops' latencies and its bytes at the
// bandwidth, no byte is lost, what never meets does not wait.
// needs: the parts of a run
#include "network/network.hpp"

#include <algorithm>
#include <functional>
#include <memory>
#include <vector>

#include "base/test.hpp"
#include "network/level.hpp"
#include "network/store_and_forward.hpp"

namespace {

using namespace yantra;
using test::check;

using Make = std::function<std::unique_ptr<NetworkModel>(const Grid&, Engine&)>;
const TimeScale scale = TimeScale::picoseconds();
bool with_latency = true;   // whether dimensions have any

Make maker_of(const NetworkLevel& level) {
    return [&level](const Grid& grid, Engine& engine) {
        static const NetworkParameters parameters;
        static const Semantics semantics{scale, {}};
        return level.make({parameters, semantics, grid, engine});
    };
}

class World {
public:
    World(std::vector<Dimension> dimensions, const Make& make)
        : grid_(std::move(dimensions)), engine_(1), network_(make(grid_, engine_)) {}

    u32 send(u64 tick, const Message& message) {
        messages_.push_back(message);
        arrived.push_back(~u64{0});
        departed.push_back(~u64{0});
        const u32 number = static_cast<u32>(messages_.size() - 1);
        engine_.queue.schedule(tick, {Owner::execution, 0}, number);
        return number;
    }
    void run() {
        while (!engine_.queue.empty()) {
            handle(engine_.queue.next());
        }
    }
    void run_by_runs() {
        asks_for_links_ = true;
        while (!engine_.queue.empty()) {
            const EventRun run = engine_.queue.next_run();
            for (u32 at = 0; at < run.count;) {
                if (run.owner() == Owner::network) {
                    at = network_->handle_run(run, at, run.count);
                } else {
                    handle(run.event(at++));
                }
            }
        }
    }
    // No message asks when it leaves.
    void forget_departures() { wants_departures_ = false; }
    const Grid& grid() const { return grid_; }
    NetworkModel& network() { return *network_; }
    u32 hops(const Message& message, u32 d) const {
        const u32 from = grid_.coordinate(message.src.index(), d);
        const u32 to = grid_.coordinate(message.dst.index(), d);
        return from == to ? 0 : grid_.hops(d, from, to);
    }

    std::vector<u64> arrived;
    std::vector<u64> departed;

private:
    void handle(const Event& event) {
        if (event.kind.owner() == Owner::network) {
            network_->handle(event);
        } else if (event.kind.owner() == Owner::execution) {
            send_now(event.index);
        } else {
            u64& tick = (event.kind.kind() == 0 ? arrived : departed)[event.index];
            check(tick == ~u64{0}, "a message arrives or leaves twice", event.index);
            tick = engine_.now();
        }
    }
    void send_now(u32 number) {
        const Message& message = messages_[number];
        const Notice arrival{{Owner::transport, 0}, number};
        FastPath* const fast_path = asks_for_links_ ? network_->capabilities().fast_path : nullptr;
        const u32 link = fast_path == nullptr ? none : fast_path->only_link(message.src, message.dst);
        if (link != none) {
            fast_path->send_over(link, message, arrival);
        } else {
            network_->send(message, arrival,
                           wants_departures_ ? Notice{{Owner::transport, 1}, number} : Notice{});
        }
    }

    bool asks_for_links_ = false;
    bool wants_departures_ = true;
    Grid grid_;
    Engine engine_;
    std::unique_ptr<NetworkModel> network_;
    std::vector<Message> messages_;
};

std::vector<Dimension> any_dimensions(test::Random& random, u64 count) {
    constexpr Block blocks[] = {Block::ring, Block::fully_connected, Block::switched};
    std::vector<Dimension> dimensions;
    for (; count > 0; --count) {
        const double bandwidth = static_cast<double>(1 + random.below(8));
        const double latency = with_latency ? static_cast<double>(random.below(500)) : 0.0;
        dimensions.push_back({blocks[random.below(3)], static_cast<u32>(2 + random.below(5)), bandwidth,
                              latency, bandwidth});
    }
    return dimensions;
}

Message any_message(test::Random& random, u32 ranks) {
    const u32 src = static_cast<u32>(random.below(ranks));
    const u32 dst = (src + 1 + static_cast<u32>(random.below(ranks - 1))) % ranks;
    return {RankId(src), RankId(dst), 840 * random.below(1000)};   // whole at all bandwidths
}

u64 time_alone(const World& world, const Message& message, bool each_hop) {
    double latency = 0.0;
    double sum = 0.0;
    double longest = 0.0;
    for (u32 d = 0; d < world.grid().dimensions(); ++d) {
        const u32 hops = world.hops(message, d);
        const Dimension& dimension = world.grid().dimension(d);
        const double transfer = static_cast<double>(message.bytes) / dimension.bytes_per_ns;
        latency += hops * dimension.latency_ns;
        sum += hops * transfer;
        longest = std::max(longest, hops > 0 ? transfer : 0.0);
    }
    return scale.ticks(latency + (each_hop ? sum : longest));
}

struct Grain {
    bool each_hop = false;       // bytes take their time on every link anew
    bool counts_links = false;   // use is counted by link, else once by dimension
};

double time_to_leave(const World& world, const Message& message, Grain grain) {
    const u32 first = world.grid().lowest_difference(message.src.index(), message.dst.index());
    double longest = 0.0;
    for (u32 d = 0; d < world.grid().dimensions(); ++d) {
        if (d == first || (grain.counts_links && !grain.each_hop && world.hops(message, d) > 0)) {
            longest = std::max(longest, static_cast<double>(message.bytes) / world.grid().dimension(d).bytes_per_ns);
        }
    }
    return longest;
}

void a_message_alone_takes_hops_and_bytes(const Make& make, Grain grain, test::Random& random) {
    World world(any_dimensions(random, 1 + random.below(3)), make);
    const Message message = any_message(random, world.grid().ranks());
    const u64 tick = random.below(10'000);
    const u32 number = world.send(tick, message);
    world.run();
    const u64 expected = time_alone(world, message, grain.each_hop);
    check(world.arrived[number] == tick + expected, "a message takes another time", expected);
    const u64 leaves = tick + scale.ticks(time_to_leave(world, message, grain));
    check(world.departed[number] == leaves, "a message leaves at another time", tick);
    if (const KnownTimes* const known = world.network().capabilities().known_times) {
        std::vector<LinkUse> use;
        check(known->alone(message, 1, use) == expected, "alone() says another time", expected);
    }
}

void nothing_is_lost(const Make& make, Grain grain, test::Random& random) {
    World world(any_dimensions(random, 1 + random.below(3)), make);
    std::vector<Message> messages;
    std::vector<LinkUse> expected(world.grid().dimensions());
    for (u32 i = 0; i < 300; ++i) {
        messages.push_back(any_message(random, world.grid().ranks()));
        world.send(i, messages.back());
        for (u32 d = 0; d < expected.size(); ++d) {
            const u32 hops = world.hops(messages.back(), d);
            expected[d].bytes += messages.back().bytes * (grain.counts_links ? hops : u32{hops > 0});
            expected[d].messages += grain.counts_links ? hops : u32{hops > 0};
        }
    }
    world.run();
    const KnownTimes* const known = world.network().capabilities().known_times;
    const bool waits = known == nullptr;
    std::vector<LinkUse> alone;
    for (u32 i = 0; i < messages.size(); ++i) {
        const u64 least = i + time_alone(world, messages[i], grain.each_hop);
        check(world.arrived[i] != ~u64{0} && world.departed[i] != ~u64{0}, "a message is lost", i);
        check(world.arrived[i] == least || (waits && world.arrived[i] > least), "a message flies", i);
        if (!waits) {
            known->alone(messages[i], 1, alone);
        }
    }
    const std::vector<LinkUse> carried = world.network().dimensions();
    std::vector<LinkUse> of_links(carried.size());
    for (const LinkRecord& record : world.network().links()) {
        of_links[record.dimension].bytes += record.use.bytes;
    }
    for (u32 d = 0; d < expected.size(); ++d) {
        check(carried[d].bytes == expected[d].bytes, "bytes came or went", d);
        check(carried[d].messages == expected[d].messages, "messages came or went", d);
        check(!grain.counts_links || of_links[d].bytes == carried[d].bytes, "links carried something else", d);
        check(waits || alone[d].bytes == carried[d].bytes, "alone() counts other bytes", d);
    }
}

void what_is_repeated_was_carried(const Make& make, test::Random& random) {
    World world(any_dimensions(random, 2), make);
    RecurringState* const state = world.network().capabilities().recurring_state;
    if (state == nullptr) {
        return;
    }
    world.send(0, any_message(random, world.grid().ranks()));
    world.run();
    const std::vector<LinkUse> before = world.network().dimensions();
    world.send(1'000'000'000, any_message(random, world.grid().ranks()));
    world.run();
    const std::vector<LinkUse> after = world.network().dimensions();
    state->repeat(before, 5);
    const std::vector<LinkUse> repeated = world.network().dimensions();
    for (u32 d = 0; d < 2; ++d) {
        check(repeated[d].bytes == after[d].bytes + 5 * (after[d].bytes - before[d].bytes),
              "other bytes were repeated", d);
        check(repeated[d].messages == after[d].messages + 5 * (after[d].messages - before[d].messages),
              "other messages were repeated", d);
    }
}

void without_contention_all_agree(const Make& make, const Make& other, test::Random& random) {
    std::vector<Dimension> dimensions = any_dimensions(random, 1);
    dimensions[0].block = Block::fully_connected;
    World one(dimensions, make);
    World two(std::move(dimensions), other);
    const u32 ranks = one.grid().ranks();
    for (u32 src = 0; src < ranks; ++src) {
        for (u32 dst = 0; dst < ranks; ++dst) {
            if (src != dst) {
                const Message message{RankId(src), RankId(dst), 840 * random.below(1000)};
                const u64 tick = random.below(100);
                one.send(tick, message);
                two.send(tick, message);
            }
        }
    }
    one.run();
    two.run();
    check(one.arrived == two.arrived && one.departed == two.departed, "networks differ", ranks);
}

void short_cuts_change_nothing(const Make& make, test::Random& random) {
    const std::vector<Dimension> dimensions = any_dimensions(random, 1 + random.below(2));
    World one(dimensions, make);
    World two(dimensions, make);
    one.forget_departures();
    two.forget_departures();
    for (u32 i = 0; i < 60; ++i) {
        const Message message = any_message(random, one.grid().ranks());
        const u64 tick = 1000 * random.below(20);
        one.send(tick, message);
        two.send(tick, message);
    }
    one.run();
    two.run_by_runs();
    check(one.arrived == two.arrived, "a short cut takes another time", 0);
    const std::vector<LinkUse> uses = one.network().dimensions();
    for (u32 d = 0; d < uses.size(); ++d) {
        check(uses[d].bytes == two.network().dimensions()[d].bytes, "a short cut carries other bytes", d);
    }
}

void one_link_serves_in_order() {
    World world({{Block::ring, 2, 1.0, 50.0, 1.0}}, [](const Grid& grid, Engine& engine) {
        return std::make_unique<StoreAndForwardNetwork>(grid, scale, engine);
    });
    for (u32 i = 0; i < 10; ++i) {
        world.send(i, {RankId(0), RankId(1), 1000});
    }
    world.run();
    for (u32 i = 0; i < 10; ++i) {
        check(world.arrived[i] == (i + 1) * 1'000'000 + 50'000, "a message out of its turn", i);
    }
}

}  // namespace

int main() {
    check(network_levels().size() >= 3, "levels are missing", network_levels().size());
    test::Random random(0);
    for (u32 step = 0; step < 100; ++step) {
        for (const NetworkLevel& level : network_levels()) {
            if (level.traits.has(NetworkTrait::needs_fabric) || level.traits.has(NetworkTrait::on_chip)) {
                continue;   // tests hold one to these laws over a graph, and the other to those of its cycles
            }
            with_latency = level.traits.has(NetworkTrait::charges_latency);
            const Make make = maker_of(level);
            const Grain grain{level.traits.has(NetworkTrait::stores_messages), level.traits.has(NetworkTrait::has_links)};
            a_message_alone_takes_hops_and_bytes(make, grain, random);
            nothing_is_lost(make, grain, random);
            what_is_repeated_was_carried(make, random);
            short_cuts_change_nothing(make, random);
            without_contention_all_agree(maker_of(*find_network_level("analytical")), make, random);
        }
    }
    one_link_serves_in_order();
}
