// A packet alone takes LogGP's sum, L + 2o + (bytes - 1) G, on each bus; packets that share a bus
// come in order.
#include "memory/shared_bus.hpp"

#include <algorithm>
#include <vector>

#include "base/test.hpp"

namespace {

using namespace yantra;
using test::check;

constexpr u64 inner_gap_per_byte = 38;   // ticks for ten bytes

struct Packet {
    bool from_memory = false;
    bool reduces = false;
    bool back = false;
    u64 bytes = 0;
};

class World final : private Completions {
public:
    explicit World(const SharedBusParameters& parameters, bool as_upstream = false)
        : engine_(1),
          bus_(engine_, *this, parameters,
               as_upstream ? TimeScale::truncated_nanoseconds() : TimeScale::picoseconds(), as_upstream,
               1) {}

    void cross(const Packet& packet) {
        const u32 number = static_cast<u32>(crossed_++);
        bus_.cross({ActorId(0), packet.from_memory, packet.reduces, packet.back, packet.bytes, number,
                    {{Owner::exchange, 0}, number, 0}});
    }
    void run() {
        while (!engine_.queue.empty()) {
            engine_.of_ranks.run(engine_.queue.next().index, [&](ActorId actor, const RankEvent& of, u32) {
                check(of.kind.owner() == Owner::bus, "an event of somebody else", crossed_);
                bus_.handle_of_actor(actor, of);
                return 1u;
            });
        }
        check(order.size() == crossed_, "a packet is lost", order.size());
    }
    u64 now() const { return engine_.now(); }

    std::vector<u32> order;   // in which packets were done
    std::vector<u64> ticks;

private:
    void completed(const Completion& completion) override {
        order.push_back(completion.a);
        ticks.push_back(engine_.now());
    }

    Engine engine_;
    SharedBus bus_;
    std::size_t crossed_ = 0;
};

SharedBusParameters any_bus(test::Random& random) {
    SharedBusParameters bus;
    bus.enabled = true;
    bus.latency = random.below(5000);
    bus.overhead = random.below(3000);
    bus.gap = bus.overhead + random.below(3000);
    bus.gap_per_byte = static_cast<double>(random.below(20));
    bus.reduction_delay = 1 + random.below(1000);
    return bus;
}

u64 sum(const SharedBusParameters& bus, u64 bytes) {
    return 2 * (bus.latency + 2 * bus.overhead) + (bytes - 1) * static_cast<u64>(bus.gap_per_byte) +
           (bytes - 1) / 10 * inner_gap_per_byte;
}

void one_packet_takes_the_sum(u32 seed) {
    test::Random random(seed);
    const SharedBusParameters bus = any_bus(random);
    const u64 bytes = 1 + 10 * random.below(10'000);   // whole ticks on the inner bus
    const u64 alone = sum(bus, bytes);
    for (const bool from_memory : {false, true}) {
        World world(bus);
        world.cross({.from_memory = from_memory, .bytes = bytes});
        world.run();
        check(world.ticks[0] == alone, "a packet alone takes another time", alone);
    }
    World back(bus);
    back.cross({.back = true, .bytes = bytes});
    back.run();
    check(back.ticks[0] == 2 * alone, "there and back is not twice the way", alone);
    World reduced(bus);
    reduced.cross({.reduces = true, .bytes = bytes});
    reduced.run();
    const u64 reduction = bytes / 100 * bus.reduction_delay + 50'000;
    check(reduced.ticks[0] == alone + reduction, "a reduction takes another time", alone);
}

void packets_come_in_their_order(u32 seed) {
    test::Random random(seed);
    const SharedBusParameters bus = any_bus(random);
    for (const bool from_memory : {false, true}) {
        World world(bus);
        u64 least = 0;
        for (u32 i = 0; i < 30; ++i) {
            const u64 bytes = 1 + 10 * random.below(100);
            world.cross({.from_memory = from_memory, .bytes = bytes});
            least = std::max(least, sum(bus, bytes));
        }
        world.run();
        for (u32 i = 0; i < 30; ++i) {
            check(world.order[i] == i, "a packet overtakes another", i);
        }
        check(world.ticks.back() >= least, "packets are faster than one alone", least);
    }
}

void the_smallest_packets_wait_for_the_gap() {
    SharedBusParameters bus;
    bus.enabled = true;
    bus.latency = 100;
    bus.overhead = 10;
    bus.gap = 1000;
    World world(bus);
    for (u32 i = 0; i < 5; ++i) {
        world.cross({.from_memory = true, .bytes = 1});
    }
    world.run();
    for (u32 i = 1; i < 5; ++i) {
        check(world.ticks[i] - world.ticks[i - 1] == bus.gap, "packets are not a gap apart", i);
    }
}

// Upstream transfers one byte fewer than none, which shortens the latency; it never ends in the
// past.
void packets_of_no_bytes_take_no_longer_than_the_latency() {
    SharedBusParameters bus;
    bus.enabled = true;
    for (const double per_byte : {0.0, 0.5, 4.0}) {
        for (const u64 latency : {0u, 100u}) {
            bus.gap_per_byte = per_byte;
            bus.latency = latency;
            const auto taken = [&](bool as_upstream, u64 bytes) {
                World world(bus, as_upstream);
                world.cross({.from_memory = true, .bytes = bytes});
                world.run();
                return world.ticks[0];
            };
            check(taken(false, 0) == 2 * latency, "a packet of no bytes takes another time", latency);
            const u64 inner = latency ? latency - 1 : 0;   // 0.0038 ns less, in whole ones
            const u64 outer = latency ? static_cast<u64>(static_cast<double>(latency) - per_byte) : 0;
            check(taken(true, 0) == inner + outer, "upstream's takes another time", latency);
            check(taken(true, u64{1} << 32U) == inner + outer, "one cut to none differs", latency);
        }
    }
}

void nothing_starves(u32 seed) {
    test::Random random(seed);
    World world(any_bus(random));
    for (u32 i = 0; i < 200; ++i) {
        world.cross({.from_memory = random.one_in(2),
                     .reduces = random.one_in(3),
                     .back = random.one_in(3),
                     .bytes = 1 + random.below(1000)});
    }
    world.run();
}

}  // namespace

int main() {
    packets_of_no_bytes_take_no_longer_than_the_latency();
    for (u32 seed = 0; seed < 40; ++seed) {
        one_packet_takes_the_sum(seed);
        packets_come_in_their_order(seed);
        nothing_starves(seed);
    }
    the_smallest_packets_wait_for_the_gap();
}
