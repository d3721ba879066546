// What is sent arrives once; a message alone takes the closed form; all credits return; the same
// seed gives the same run; a deadlock ends the run with its circle.
// needs: network/noc, network/noc/routing
#include "network/noc/simulator.hpp"

#include <stdexcept>
#include <string>
#include <vector>

#include "base/test.hpp"
#include "base/unsupported.hpp"

namespace {

using namespace yantra;
using namespace yantra::noc;
using test::check;

class NoDateline final : public Routing {
public:
    using Routing::Routing;
    void route(const Head& head, Rng& random, Offers& offers) const override {
        offers.add({all_vcs(), dimension_order_port(shape_, head, true, random), 0});
    }
};

const RegisteredRouting registered_wrong({
    "wrong",
    "dimension order that forgets the dateline",
    [](const Shape& shape, u32 vcs) -> std::unique_ptr<Routing> { return std::make_unique<NoDateline>(shape, vcs); },
});

struct Arrivals final : Observer {
    std::vector<Packet> packets;
    std::vector<u32> departures;
    void arrived(const Packet& packet) override { packets.push_back(packet); }
    void departed(u32 tag) override { departures.push_back(tag); }
};

Settings settings_of(std::vector<Dimension> dimensions, const char* router, const char* routing) {
    Settings made;
    made.dimensions = std::move(dimensions);
    made.router = router;
    made.routing = routing;
    return made;
}

void run_out(Simulator& simulator) {
    for (u64 cycle = 0; cycle < 1'000'000 && !simulator.is_idle(); ++cycle) {
        simulator.step();
    }
    check(simulator.is_idle(), "flits that never arrive", simulator.now());
    simulator.idle_until(simulator.now() + 100);
}

void check_at_rest(const Simulator& simulator, u32 vcs) {
    const Channels& channels = simulator.channels();
    const u64 all = (u64{1} << vcs) - 1;
    check(channels.is_quiet() && channels.flits_inside() == 0, "something is on its way", 0);
    check(simulator.flits_under_way() == 0 && simulator.created_under_way() == 0, "what is under way", 0);
    for (u32 port = 0; port < channels.layout().ports_with_sources(); ++port) {
        const OutputPort& output = channels.outputs()[PortId(port)];
        check(output.free == all && output.credits == all && output.to_drain == 0, "VCs and credits come back", port);
    }
    for (u32 port = 0; port < channels.layout().ports(); ++port) {
        check(channels.inputs().state(PortId(port)).is_idle(), "a port with nothing to do", port);
    }
}

const std::vector<std::vector<Dimension>>& shapes() {
    static const std::vector<std::vector<Dimension>> all = {
        {{4, false, 1}, {4, false, 1}}, {{4, true, 1}, {4, true, 2}}, {{6, true, 3}}, {{3, false, 1}, {4, true, 1}}};
    return all;
}

template <class Use>
void with_all(Use&& use) {
    for (const RouterKind& router : routers()) {
        for (const RoutingKind& routing : routings()) {
            for (const std::vector<Dimension>& dimensions : shapes()) {
                Settings settings = settings_of(dimensions, router.name.c_str(), routing.name.c_str());
                try {
                    check(settings);
                    (void)routing.make(Shape(dimensions, 1), settings.vcs);
                } catch (const std::invalid_argument&) {
                    continue;
                }
                use(settings);
            }
        }
    }
}

void a_message_is_cut_into_packets() {
    with_all([](Settings settings) {
        settings.packet_flits = 4;
        settings.buffer_flits = 64;
        for (const u32 nodes : {1u, 2u}) {
            for (const u32 cycles : {1u, 3u}) {
                settings.nodes_per_router = nodes;
                settings.router_cycles = find_router(settings.router)->takes_cycles ? cycles : 1;
                const Shape shape(settings.dimensions, nodes);
                for (u32 to = 0; to < shape.nodes(); ++to) {
                    for (const u64 flits : {1u, 4u, 16u}) {
                        Arrivals arrivals;
                        Simulator simulator(settings, arrivals);
                        simulator.send(1, to, flits, 7, 0);
                        run_out(simulator);
                        check(arrivals.packets.size() == (flits + 3) / 4, "packets", to);
                        check(arrivals.departures == std::vector<u32>{7}, "one departure", to);
                        check(arrivals.packets[0].routers == shape.hops(shape.router_of(1), shape.router_of(to)) + 1,
                              "routers on a shortest way", to);
                    }
                }
            }
        }
    });
}

struct LastArrival final : Observer {
    const Simulator* simulator = nullptr;
    u64 at = 0;
    void arrived(const Packet&) override { at = simulator->now(); }
};

void latency_is_the_sum_of_its_stages() {
    with_all([](Settings settings) {
        if (settings.routing == "adaptive") {
            return;   // packets of one message may overtake each other, and VCs are taken empty only
        }
        settings.packet_flits = 4;
        settings.vcs = 8;
        settings.buffer_flits = 16;
        for (const u64 flits : {1u, 3u, 4u, 32u}) {
            LastArrival last;
            Simulator simulator(settings, last);
            last.simulator = &simulator;
            for (u32 to = 0; to < simulator.shape().nodes(); ++to) {
                const u64 from = simulator.now();
                simulator.send(0, to, flits, 0, from);
                run_out(simulator);
                check(last.at - from == simulator.alone_cycles(0, to, flits), settings.router.c_str(), to);
            }
            check_at_rest(simulator, settings.vcs);
        }
    });
}

// BookSim's: 5 H + 2 + (P - 1).
void the_closed_form_is_booksims() {
    Arrivals arrivals;
    Settings settings = settings_of({{8, false, 1}, {8, false, 1}}, "input_queued", "xy");
    check(Simulator(settings, arrivals).alone_cycles(0, 63, 5) == 5 * 15 + 2 + 4, "BookSim's formula", 0);
    settings.router = "one_stage";
    check(Simulator(settings, arrivals).alone_cycles(0, 63, 5) == 2 * 15 + 2 + 4, "Garnet's: R + L a router", 0);
    settings.router_cycles = 3;
    check(Simulator(settings, arrivals).alone_cycles(0, 63, 5) == 4 * 15 + 2 + 4, "and with R of 3", 0);
}

void the_credit_loop_bounds_a_vc() {
    Settings settings = settings_of({{4, false, 1}}, "input_queued", "xy");
    settings.vcs = 1;
    settings.buffer_flits = 4;
    settings.packet_flits = 1000;
    LastArrival last;
    Simulator simulator(settings, last);
    last.simulator = &simulator;
    simulator.send(0, 3, 1000, 0, 0);
    run_out(simulator);
    check(last.at >= 1249 && last.at <= 1249 + 5 * 4 + 2, "1000 flits at 4/5 a cycle", last.at);
}

struct Sent {
    u32 source;
    u32 destination;
    u64 flits;
};

u64 run_random(const Settings& settings, u32 seed) {
    test::Random random(seed);
    Arrivals arrivals;
    Simulator simulator(settings, arrivals);
    std::vector<Sent> sent;
    u64 flits = 0;
    const u32 nodes = simulator.shape().nodes();
    for (u32 message = 0; message < 400; ++message) {
        sent.push_back({static_cast<u32>(random.below(nodes)), static_cast<u32>(random.below(nodes)),
                        1 + random.below(20)});
        flits += sent.back().flits;
        simulator.send(sent.back().source, sent.back().destination, sent.back().flits, message, simulator.now());
        for (u64 cycles = random.below(4); cycles > 0; --cycles) {
            simulator.step();
        }
    }
    run_out(simulator);
    check_at_rest(simulator, settings.vcs);
    std::vector<u64> left(sent.size());
    for (u32 message = 0; message < sent.size(); ++message) {
        left[message] = sent[message].flits;
    }
    for (const Packet& packet : arrivals.packets) {
        check(packet.source == sent[packet.tag].source && packet.destination == sent[packet.tag].destination, "its ends",
              packet.tag);
        check(packet.flits <= left[packet.tag] && packet.flits <= settings.packet_flits, "its flits", packet.tag);
        left[packet.tag] -= packet.flits;
    }
    for (const u64 rest : left) {
        check(rest == 0, "flits that got lost", rest);
    }
    check(simulator.flits_arrived() == flits && arrivals.departures.size() == sent.size(), "all flits", flits);
    u64 through = 0;
    for (u32 port = 0; port < simulator.shape().routers() * simulator.shape().ports(); ++port) {
        through += simulator.channels().crossings().flits(PortId(port));
    }
    check(through == simulator.channels().crossings().flit_hops(), "each flit through a router is counted at a port", through);
    return simulator.now() * 1000003 + through;
}

void all_that_is_sent_arrives() {
    with_all([](Settings settings) {
        for (u32 seed = 1; seed <= 4; ++seed) {
            if (settings.routing == "wrong") {
                continue;
            }
            settings.packet_flits = 1 + seed;
            settings.buffer_flits = 1 + seed % 3;
            settings.nodes_per_router = 1 + seed % 2;
            settings.vcs = 3 + seed % 2;
            check(run_random(settings, seed) == run_random(settings, seed), "the same seed, the same run", seed);
        }
    });
}

void a_circle_ends_the_run() {
    for (const char* router : {"input_queued", "one_stage"}) {
        Settings settings = settings_of({{6, true, 1}}, router, "wrong");
        settings.vcs = 1;
        settings.packet_flits = 64;
        settings.buffer_flits = 2;
        Arrivals arrivals;
        Simulator simulator(settings, arrivals);
        for (u32 node = 0; node < 6; ++node) {
            simulator.send(node, (node + 2) % 6, 64, node, 0);
        }
        std::string said;
        try {
            run_out(simulator);
        } catch (const Unsupported& unsupported) {
            said = unsupported.what();
        }
        check(said.find("a deadlock, in which each of these waits") != std::string::npos, said.c_str(), 0);
        check(said.find("from below in dimension 0") != std::string::npos, said.c_str(), 1);
        settings.routing = "xy";
        settings.vcs = 2;
        Simulator right(settings, arrivals);
        for (u32 node = 0; node < 6; ++node) {
            right.send(node, (node + 2) % 6, 64, node, 0);
        }
        run_out(right);
    }
}

bool is_refused(Settings settings, const char* why) {
    Arrivals arrivals;
    try {
        const Simulator simulator(settings, arrivals);
    } catch (const std::invalid_argument& refused) {
        return std::string(refused.what()).find(why) != std::string::npos;
    }
    return false;
}

void what_cannot_be_is_refused() {
    Settings ring = settings_of({{4, true, 1}}, "input_queued", "xy");
    ring.vcs = 1;
    check(is_refused(ring, "both sides of the dateline"), "a ring with one VC", 0);
    check(is_refused(settings_of({{4, true, 1}, {4, false, 1}}, "input_queued", "west_first"), "west_first: a mesh"),
          "west first on a ring", 0);
    Settings escape = settings_of({{4, false, 1}, {4, false, 1}}, "input_queued", "adaptive");
    escape.vcs = 1;
    check(is_refused(escape, "for escapes"), "adaptive without a VC to adapt with", 0);
    check(is_refused(settings_of({{4, false, 1}}, "no_such", "xy"), "input_queued, one_stage"), "router", 0);
    check(is_refused(settings_of({{1, false, 1}}, "input_queued", "xy"), "2 or more routers"), "one router", 0);
    Settings cycles = settings_of({{4, false, 1}}, "input_queued", "xy");
    cycles.router_cycles = 2;
    check(is_refused(cycles, "take router one_stage"), "cycles of a router with stages", 0);
}

}  // namespace

int main() {
    a_message_is_cut_into_packets();
    latency_is_the_sum_of_its_stages();
    the_closed_form_is_booksims();
    the_credit_loop_bounds_a_vc();
    all_that_is_sent_arrives();
    a_circle_ends_the_run();
    what_cannot_be_is_refused();
}
