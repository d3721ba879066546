// A path costs the least where a routing says so (Bellman and Ford); routing_laws.test.cpp has the
// laws of all.
// needs: fabric, fabric/routing
#include "fabric/routing/routing.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>
#include <stdexcept>
#include <vector>

#include "base/test.hpp"
#include "base/unsupported.hpp"

namespace {

using namespace yantra;
using test::check;

void link(FabricColumns& columns, u32 a, u32 b, double weight = 1.0) {
    for (const auto& [from, to] : {std::pair{a, b}, std::pair{b, a}}) {
        columns.from.push_back(from);
        columns.to.push_back(to);
        columns.bytes_per_ns.push_back(1.0);
        columns.latency_ns.push_back(1.0);
        columns.buffer_bytes.push_back(0);
        columns.label.push_back(0);
        columns.weight.push_back(weight);
    }
}

FabricColumns devices(u32 ranks, u32 switches) {
    FabricColumns columns;
    columns.ranks = ranks;
    columns.kinds.assign(ranks, 0);
    columns.kinds.insert(columns.kinds.end(), switches, 1);
    columns.labels = {"all"};
    return columns;
}

FabricGraph any_graph(test::Random& random, bool weighted) {
    FabricColumns columns = devices(static_cast<u32>(2 + random.below(8)), static_cast<u32>(random.below(8)));
    const auto count = static_cast<u32>(columns.kinds.size());
    const auto weight = [&] { return weighted ? 0.1 * static_cast<double>(1 + random.below(5)) : 1.0; };
    for (u32 device = 1; device < count; ++device) {
        link(columns, device, static_cast<u32>(random.below(device)), weight());
    }
    for (u64 more = random.below(12); more > 0; --more) {
        const u64 from = random.below(count);
        link(columns, static_cast<u32>(from), static_cast<u32>((from + 1 + random.below(count - 1)) % count), weight());
    }
    return FabricGraph(columns);
}

// Two spines over two leaves of three hosts each.
FabricGraph two_leaves() {
    FabricColumns columns = devices(6, 4);
    for (u32 rank = 0; rank < 6; ++rank) {
        link(columns, rank, 6 + rank / 3);
    }
    for (u32 leaf : {6u, 7u}) {
        for (u32 spine : {8u, 9u}) {
            link(columns, leaf, spine);
        }
    }
    return FabricGraph(columns);
}

FabricGraph torus(u32 side, bool wraps) {
    FabricColumns columns = devices(side * side, 0);
    columns.dimensions = 2;
    for (u32 rank = 0; rank < side * side; ++rank) {
        const u32 x = rank % side;
        const u32 y = rank / side;
        columns.coordinates.push_back(static_cast<i32>(x));
        columns.coordinates.push_back(static_cast<i32>(y));
        if (wraps || x + 1 < side) {
            link(columns, rank, y * side + (x + 1) % side);
        }
        if (wraps || y + 1 < side) {
            link(columns, rank, (y + 1) % side * side + x);
        }
    }
    return FabricGraph(columns);
}

double slow_cost(const FabricGraph& graph, u32 from, u32 to) {
    std::vector<double> cost(graph.devices(), std::numeric_limits<double>::infinity());
    cost[from] = 0.0;
    for (u32 round = 0; round < graph.devices(); ++round) {
        for (u32 at = 0; at < graph.links(); ++at) {
            cost[graph.to(at)] = std::min(cost[graph.to(at)], cost[graph.from(at)] + graph.weight(at));
        }
    }
    return cost[to];
}

double cost_of(const FabricGraph& graph, const std::vector<u32>& path) {
    double sum = 0.0;
    for (u32 at : path) {
        sum += graph.weight(at);
    }
    return sum;
}

void joins_its_ends(const FabricGraph& graph, const Flow& flow, const std::vector<u32>& path) {
    u32 at = flow.from;
    for (u32 taken : path) {
        check(graph.from(taken) == at, "a link that begins elsewhere", taken);
        at = graph.to(taken);
    }
    check(at == flow.to, "a path that ends elsewhere", flow.to);
    check(std::set<u32>(path.begin(), path.end()).size() == path.size(), "a link taken twice", flow.to);
}

void routes_well(const FabricGraph& graph, const char* name, bool is_cheapest) {
    const std::unique_ptr<Routing> one = make_routing(graph, {name, {}, 7});
    const std::unique_ptr<Routing> other = make_routing(graph, {name, {}, 7});
    std::vector<u32> path;
    std::vector<u32> again;
    for (u32 from = 0; from < graph.ranks(); ++from) {
        for (u32 to = 0; to < graph.ranks(); ++to) {
            const Flow flow{from, to, 3, 5};
            one->route(flow, nullptr, path);
            joins_its_ends(graph, flow, path);
            check(!is_cheapest || std::abs(cost_of(graph, path) - slow_cost(graph, from, to)) < 1e-9,
                  "a dearer way", to);
        }
    }
    for (u32 to = 0; to < graph.ranks(); ++to) {   // asked for in another order
        const Flow flow{graph.ranks() - 1, to, 3, 5};
        one->route(flow, nullptr, path);
        for (u32 times = 0; times < 3; ++times) {   // once, twice and three times
            other->route(flow, nullptr, again);
            check(path == again, "a way that depends on what was asked before", to);
        }
    }
}

void divides_well(const FabricGraph& graph) {
    const std::unique_ptr<Routing> routing = make_routing(graph, {"even_spray", {}, 7});
    Division division;
    for (u32 from = 0; from < graph.ranks(); ++from) {
        for (u32 to = 0; to < graph.ranks(); ++to) {
            routing->divide({from, to, 3, 5}, division);
            std::vector<double> there(graph.devices());
            std::vector<u32> left(graph.devices());
            there[from] = 1.0;
            for (std::size_t hop = 0; hop < division.links.size(); ++hop) {
                const u32 link = division.links[hop];
                const u32 at = graph.from(link);
                check(!left[graph.to(link)], "a link behind those that it leads to", to);
                check(std::abs(slow_cost(graph, at, to) - graph.weight(link) - slow_cost(graph, graph.to(link), to)) < 1e-9,
                      "a dearer way", to);
                u32 others = 0;
                for (u32 other : division.links) {
                    others += graph.from(other) == at;
                }
                check(std::abs(division.parts[hop] * others - there[at]) < 1e-12, "a device that divides unevenly", to);
                there[graph.to(link)] += division.parts[hop];
                left[at] = 1;
            }
            check(std::abs(there[to] - 1.0) < 1e-12, "a part of a flow is lost", to);
        }
    }
}

void up_down_never_goes_up_after_down() {
    const FabricGraph tree = two_leaves();
    routes_well(tree, "up_down", true);
    FabricColumns columns = devices(5, 5);
    for (u32 at = 0; at < 5; ++at) {
        link(columns, at, 5 + at);
        link(columns, 5 + at, 5 + (at + 1) % 5);
    }
    const FabricGraph ring(columns);
    const std::unique_ptr<Routing> routing = make_routing(ring, {"up_down", {}, 0});
    std::vector<u32> path;
    for (u32 from = 0; from < 5; ++from) {
        for (u32 to = 0; to < 5; ++to) {
            routing->route({from, to, 0, 0}, nullptr, path);
            bool went_down = false;
            for (std::size_t at = 1; at + 1 < path.size(); ++at) {
                const bool up = ring.to(path[at]) < ring.from(path[at]);
                check(!(up && went_down), "up after down", to);
                went_down = went_down || !up;
            }
        }
    }
}

void hashes_spread() {
    const FabricGraph graph = two_leaves();
    const std::unique_ptr<Routing> ecmp = make_routing(graph, {"ecmp", {}, 1});
    const std::unique_ptr<Routing> spray = make_routing(graph, {"spray", {}, 1});
    std::vector<u32> path;
    u32 by_flow = 0;
    u32 by_packet = 0;
    ecmp->route({0, 5, 0, 0}, nullptr, path);
    const std::vector<u32> first = path;
    for (u32 at = 0; at < 1000; ++at) {
        ecmp->route({0, 5, at, 0}, nullptr, path);
        by_flow += graph.to(path[1]) == 8;
        spray->route({0, 5, 0, at}, nullptr, path);
        by_packet += graph.to(path[1]) == 8;
        ecmp->route({0, 5, 0, at}, nullptr, path);
        check(path == first, "packets of one flow part", at);
    }
    check(by_flow > 430 && by_flow < 570, "flows do not spread", by_flow);
    check(by_packet > 430 && by_packet < 570, "packets do not spread", by_packet);
}

struct Loads final : LinkLoads {
    double load(u32 link) const override { return link == busy ? 1.0 : 0.0; }
    u32 busy = none;
};

void adaptive_avoids_the_busy_link() {
    const FabricGraph graph = two_leaves();
    const std::unique_ptr<Routing> routing = make_routing(graph, {"adaptive", {}, 1});
    std::vector<u32> path;
    Loads loads;
    for (u32 number = 0; number < 50; ++number) {
        loads.busy = none;
        routing->route({0, 5, number, 0}, &loads, path);
        loads.busy = path[1];
        routing->route({0, 5, number, 0}, &loads, path);
        check(path[1] != loads.busy, "the busy link is taken", number);
    }
}

void dimensions_come_in_order() {
    for (const bool wraps : {false, true}) {
        for (u32 side : {2u, 3u, 4u, 5u}) {
            const FabricGraph graph = torus(side, wraps);
            const std::unique_ptr<Routing> routing = make_routing(graph, {"dimension_ordered", {}, 1});
            std::vector<u32> path;
            for (u32 from = 0; from < graph.ranks(); ++from) {
                for (u32 to = 0; to < graph.ranks(); ++to) {
                    routing->route({from, to, 0, 0}, nullptr, path);
                    joins_its_ends(graph, {from, to, 0, 0}, path);
                    check(static_cast<double>(path.size()) == slow_cost(graph, from, to), "a longer way", to);
                    bool in_y = false;
                    for (u32 taken : path) {
                        const bool is_y = graph.coordinate(graph.from(taken), 0) == graph.coordinate(graph.to(taken), 0);
                        check(is_y || !in_y, "x after y", to);
                        in_y = is_y;
                    }
                }
            }
        }
    }
}

void a_flow_stays_in_its_box() {
    FabricColumns columns = devices(4, 2);
    link(columns, 0, 4);
    link(columns, 1, 4);
    for (u32 rank = 0; rank < 4; ++rank) {
        link(columns, rank, 5);
    }
    columns.box = {0, 0, 1, 1, 0, -1};
    const FabricGraph graph(columns);
    std::vector<u32> path;
    make_routing(graph, {"ecmp", {{"stay_in_box", 1.0}}, 0})->route({0, 1, 0, 0}, nullptr, path);
    check(path.size() == 2 && graph.to(path[0]) == 4, "a flow leaves its box", 0);
    make_routing(graph, {"ecmp", {{"stay_in_box", 1.0}}, 0})->route({2, 3, 0, 0}, nullptr, path);
    check(path.size() == 2 && graph.to(path[0]) == 5, "a box without links keeps its flows", 0);
    make_routing(graph, {"ecmp", {}, 0})->route({0, 1, 0, 0}, nullptr, path);
    check(path.size() == 2 && graph.to(path[0]) == 4, "a flow does not use the switch of its own box", 0);
    link(columns, 4, 5);   // now the switch inside is no more its ranks' than the one outside
    try {
        make_routing(FabricGraph(columns), {"ecmp", {}, 0})->route({0, 1, 0, 0}, nullptr, path);
        check(false, "two meanings, and one is taken", 0);
    } catch (const Unsupported&) {
    }
    u32 outside = 0;
    const std::unique_ptr<Routing> free = make_routing(graph, {"ecmp", {{"stay_in_box", 0.0}}, 0});
    for (u32 number = 0; number < 100; ++number) {
        free->route({0, 1, number, 0}, nullptr, path);
        outside += graph.to(path[0]) == 5;
    }
    check(outside > 20 && outside < 80, "boxes matter although they are not to", outside);
}

template <class Error>
bool is_refused(const FabricGraph& graph, const RoutingChoice& choice, const Flow& flow) {
    std::vector<u32> path;
    try {
        make_routing(graph, choice)->route(flow, nullptr, path);
        return false;
    } catch (const Error&) {
        return true;
    }
}

void what_cannot_be_is_refused() {
    FabricColumns columns = devices(3, 0);
    link(columns, 0, 1);
    const FabricGraph graph(columns);
    for (const char* name : {"shortest", "ecmp", "spray", "adaptive", "valiant", "up_down"}) {
        check(is_refused<Unsupported>(graph, {name, {}, 0}, {0, 2, 0, 0}), "a way where there is none", 0);
    }
    check(is_refused<std::invalid_argument>(graph, {"dimension_ordered", {}, 0}, {0, 1, 0, 0}), "no grid", 0);
    check(is_refused<std::invalid_argument>(graph, {"no such", {}, 0}, {0, 1, 0, 0}), "no such routing", 0);
    check(is_refused<std::invalid_argument>(graph, {"ecmp", {{"of", 1.0}}, 0}, {0, 1, 0, 0}), "no such option", 0);
}

}  // namespace

int main() {
    divides_well(two_leaves());
    test::Random random(0);
    for (u64 step = 0; step < 150; ++step) {
        const FabricGraph graph = any_graph(random, step % 2 == 1);
        for (const char* name : {"shortest", "ecmp", "d_mod_k", "spray", "even_spray", "adaptive"}) {
            routes_well(graph, name, true);
        }
        routes_well(graph, "valiant", false);
        divides_well(graph);
    }
    up_down_never_goes_up_after_down();
    hashes_spread();
    adaptive_avoids_the_busy_link();
    dimensions_come_in_order();
    a_flow_stays_in_its_box();
    what_cannot_be_is_refused();
}
