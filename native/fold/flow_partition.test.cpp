// Whichever classes of flows are under way, rates over one link of each class are those over all
// links.
// needs: the parts of a run
#include "fold/flow_partition.cpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <vector>

#include "base/test.hpp"
#include "network/flow/test.hpp"

namespace {

using namespace yantra;
using test::check;
using test::SharedLinks;

void cable(FabricColumns& columns, u32 one, u32 other, double rate, u32 label) {
    for (const auto& [from, to] : {std::pair{one, other}, std::pair{other, one}}) {
        columns.from.push_back(from);
        columns.to.push_back(to);
        columns.bytes_per_ns.push_back(rate);
        columns.latency_ns.push_back(100.0);
        columns.buffer_bytes.push_back(0);
        columns.label.push_back(label);
        columns.weight.push_back(1.0);
    }
}

Model any_cluster(test::Random& random) {
    const u32 leaves = 2 + static_cast<u32>(random.below(3));
    const u32 per_leaf = 2 * (1 + static_cast<u32>(random.below(2)));
    const u32 spines = 1 + static_cast<u32>(random.below(3));
    const bool boxes = random.one_in(3);
    FabricColumns columns;
    columns.ranks = leaves * per_leaf;
    columns.labels = {"rank", "leaf", "box"};
    const u32 switches = leaves + spines + (boxes ? columns.ranks / 2 : 0);
    columns.kinds.assign(columns.ranks, 0);
    columns.kinds.resize(columns.ranks + switches, 1);
    const double up = random.one_in(2) ? 3.0 : 10.0;
    for (u32 rank = 0; rank < columns.ranks; ++rank) {
        cable(columns, rank, columns.ranks + rank / per_leaf, random.one_in(60) ? 7.0 : 10.0, 0);
        if (boxes) {
            cable(columns, rank, columns.ranks + leaves + spines + rank / 2, 40.0, 2);
        }
    }
    for (u32 leaf = 0; leaf < leaves; ++leaf) {
        for (u32 spine = 0; spine < spines; ++spine) {
            cable(columns, columns.ranks + leaf, columns.ranks + leaves + spine, random.one_in(60) ? 1.0 : up, 1);
        }
    }
    Model model;
    model.semantics.scale = TimeScale::picoseconds();
    model.network.dimensions = {{Block::switched, columns.ranks, 1.0, 1.0, 1.0}};
    model.network.tables = {nullptr};
    for (u32 rank = 0; rank < columns.ranks; ++rank) {
        model.network.placement.push_back(rank);
    }
    const char* const names[] = {"even_spray", "even_spray", "shortest", "ecmp"};
    model.network.routing.name = names[random.below(4)];
    model.network.fabric = std::make_shared<const FabricGraph>(columns);
    return model;
}

struct Pattern {
    std::vector<u32> ahead;
    std::vector<u32> bits;

    std::vector<u32> of(u32 rank, u32 ranks) const {
        std::vector<u32> all;
        for (u32 by : ahead) {
            all.push_back((rank + by) % ranks);
        }
        for (u32 by : bits) {
            all.push_back((rank ^ by) < ranks ? rank ^ by : rank);
        }
        return all;
    }
};

struct Divided {
    std::vector<u32> class_of;
    std::vector<u32> first;      // by class: a rank
    FlowClasses links;
};

Divided divide(FlowPartition& partition, u32 ranks) {
    Divided found{std::vector<u32>(ranks), {0}, {}};
    for (std::size_t before = 0; before != found.first.size();) {
        before = found.first.size();
        check(partition.divide(found.class_of, static_cast<u32>(before)), "a search that gives up", ranks);
        std::map<std::pair<u32, std::vector<u64>>, u32> numbers;
        found.first.clear();
        for (u32 rank = 0; rank < ranks; ++rank) {
            const auto [at, is_new] =
                numbers.try_emplace({found.class_of[rank], partition.signature(rank)}, found.first.size());
            found.class_of[rank] = at->second;
            if (is_new) {
                found.first.push_back(rank);
            }
        }
    }
    found.links = partition.classes_for(found.first);
    return found;
}

struct FlowClass {
    std::vector<u32> of_all;     // flows, by their number in the whole
    u32 of_one = 0;
};

void add(SharedLinks& world, const Way& way, bool is_active) {
    world.routes.push_back(way.links);
    world.shares.emplace_back();
    for (std::size_t at = 0; at < way.links.size(); ++at) {
        world.shares.back().push_back(way.part(at).shared);
    }
    world.weights.push_back(1.0);
    world.flows.push_back(is_active ? 1 : 0);
}

void links_carry_alike(const SharedLinks& whole, const SharedLinks& one, const FlowClasses& classes, u64 step) {
    const auto carried = [](const SharedLinks& world) {
        std::vector<double> sums(world.capacity.size());
        for (std::size_t at = 0; at < world.routes.size(); ++at) {
            for (std::size_t hop = 0; hop < world.routes[at].size(); ++hop) {
                sums[world.routes[at][hop]] += world.flows[at] * world.share(at, hop);
            }
        }
        return sums;
    };
    const std::vector<double> of_all = carried(whole);
    const std::vector<double> of_classes = carried(one);
    for (u32 link = 0; link < of_all.size(); ++link) {
        const double wanted = classes.class_of[link] == none ? 0.0 : of_classes[classes.class_of[link]];
        check(std::abs(of_all[link] - wanted) < 1e-9, "a link carries other bytes than its class", step);
    }
}

bool rates_are_equal_in_a_class(test::Random& random, u64 step) {
    const Model model = any_cluster(random);
    const Grid grid(model.network.dimensions, model.network.tables);
    const u32 ranks = model.network.fabric->ranks();
    Pattern pattern;
    for (u64 more = 1 + random.below(3); more > 0; --more) {
        (random.one_in(2) ? pattern.ahead : pattern.bits).push_back(1 + static_cast<u32>(random.below(ranks - 1)));
    }
    FlowPartition partition(model, grid, [&](u32 rank, const FlowPartition::VisitDestination& visit) {
        for (u32 to : pattern.of(rank, ranks)) {
            visit(to);
        }
    });
    const Divided divided = divide(partition, ranks);
    Ways ways(model.network, grid);
    for (u64 round = 0; round < 4; ++round) {
        SharedLinks whole;
        SharedLinks one;
        for (u32 link = 0; link < ways.links(); ++link) {
            whole.capacity.push_back(ways.bytes_per_ns(link));
        }
        for (u32 link : divided.links.one_of) {
            one.capacity.push_back(ways.bytes_per_ns(link));
        }
        std::map<std::pair<u32, std::size_t>, FlowClass> flows;
        std::map<std::pair<u32, std::size_t>, bool> is_active;
        for (u32 rank = 0; rank < ranks; ++rank) {
            std::vector<u32> known;
            for (u32 to : pattern.of(rank, ranks)) {
                if (to == rank || std::find(known.begin(), known.end(), to) != known.end()) {
                    continue;
                }
                const std::pair key{divided.class_of[rank], known.size()};
                known.push_back(to);
                const bool active = is_active.try_emplace(key, !random.one_in(3)).first->second;
                FlowClass& of = flows[key];
                of.of_all.push_back(static_cast<u32>(whole.routes.size()));
                Way way;
                ways.find(ways.place(RankId(rank)), ways.place(RankId(to)), 0, nullptr, way);
                add(whole, way, active);
                if (divided.first[key.first] == rank) {
                    of.of_one = static_cast<u32>(one.routes.size());
                    add(one, divided.links.ways.at(FlowClasses::pair(rank, to)), active);
                }
            }
        }
        const std::vector<double> of_all = test::slow_levels(whole);
        const std::vector<double> of_one = test::slow_levels(one);
        for (const auto& [key, of] : flows) {
            for (u32 flow : of.of_all) {
                check(std::abs(of_all[flow] - of_one[of.of_one]) <= 1e-9 * std::abs(of_all[flow]),
                      "a flow of another rate than its class", step);
            }
        }
        links_carry_alike(whole, one, divided.links, step);
    }
    return divided.first.size() < ranks;
}

void ranks_that_look_alike_are_one_class() {
    test::Random random(1);
    Model model = any_cluster(random);
    FabricColumns columns;
    columns.ranks = 8;
    columns.labels = {"rank", "leaf"};
    columns.kinds = {0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1};
    for (u32 rank = 0; rank < 8; ++rank) {
        cable(columns, rank, 8 + rank / 4, 10.0, 0);
    }
    for (u32 leaf : {8u, 9u}) {
        for (u32 spine : {10u, 11u, 12u}) {
            cable(columns, leaf, spine, 3.0, 1);
        }
    }
    model.network.fabric = std::make_shared<const FabricGraph>(columns);
    model.network.dimensions = {{Block::switched, 8, 1.0, 1.0, 1.0}};
    model.network.placement = {0, 1, 2, 3, 4, 5, 6, 7};
    model.network.routing.name = "even_spray";
    const Grid grid(model.network.dimensions, model.network.tables);
    FlowPartition partition(model, grid, [](u32 rank, const auto& visit) {
        visit((rank + 4) % 8);
        visit(rank ^ 1);
    });
    const Divided divided = divide(partition, 8);
    check(divided.first.size() == 1, "ranks that look alike are divided", divided.first.size());
    check(divided.links.count == std::vector<u32>({16, 12}), "links that look alike are divided",
          0);
    const Way& way = divided.links.ways.at(FlowClasses::pair(0, 4));
    check(std::abs(way.parts[1].shared - 4.0 / 3.0) < 1e-12 && way.parts[1].flows == 4, "other shares of an uplink", 0);
}

}  // namespace

int main() {
    ranks_that_look_alike_are_one_class();
    test::Random random(0);
    u64 folded = 0;
    for (u64 step = 0; step < 500; ++step) {
        folded += rates_are_equal_in_a_class(random, step) ? 1 : 0;
    }
    check(folded > 150, "hardly any are folded", folded);
}
