#include "fabric/routing/routing_laws.hpp"

#include <cmath>
#include <memory>
#include <random>
#include <stdexcept>
#include <utility>
#include <vector>

#include "base/unsupported.hpp"

namespace yantra {

namespace {

constexpr u32 random_fabrics = 30;
constexpr u64 trial_seed = 7;
constexpr double nearly_whole = 1e-9;

class TrialFabric {
public:
    TrialFabric(u32 ranks, u32 switches) {
        columns_.ranks = ranks;
        columns_.kinds.assign(ranks, 0);
        columns_.kinds.insert(columns_.kinds.end(), switches, 1);
        columns_.labels = {"all"};
    }

    TrialFabric& join(u32 a, u32 b, double weight = 1.0) {
        for (const auto& [from, to] : {std::pair{a, b}, std::pair{b, a}}) {
            columns_.from.push_back(from);
            columns_.to.push_back(to);
            columns_.bytes_per_ns.push_back(1.0);
            columns_.latency_ns.push_back(1.0);
            columns_.buffer_bytes.push_back(0);
            columns_.label.push_back(0);
            columns_.weight.push_back(weight);
        }
        return *this;
    }

    // Switches have none.
    TrialFabric& on_grid(u32 dimensions, const std::vector<i32>& of_ranks) {
        columns_.dimensions = dimensions;
        columns_.coordinates = of_ranks;
        columns_.coordinates.resize(columns_.kinds.size() * dimensions, -1);
        return *this;
    }

    FabricGraph graph() const { return FabricGraph(columns_); }

private:
    FabricColumns columns_;
};

FabricGraph trial_star() {
    constexpr u32 ranks = 5;
    TrialFabric fabric(ranks, 1);
    std::vector<i32> coordinates;
    for (u32 rank = 0; rank < ranks; ++rank) {
        fabric.join(rank, ranks);
        coordinates.push_back(static_cast<i32>(rank));
    }
    return fabric.on_grid(1, coordinates).graph();
}

FabricGraph trial_leaves() {
    constexpr u32 ranks = 6;
    TrialFabric fabric(ranks, 4);
    for (u32 rank = 0; rank < ranks; ++rank) {
        fabric.join(rank, ranks + rank / 3);
    }
    for (const u32 leaf : {ranks, ranks + 1}) {
        fabric.join(leaf, ranks + 2).join(leaf, ranks + 3);
    }
    return fabric.graph();
}

FabricGraph trial_torus() {
    constexpr u32 side = 4;
    TrialFabric fabric(side * side, 0);
    std::vector<i32> coordinates;
    for (u32 rank = 0; rank < side * side; ++rank) {
        const u32 x = rank % side;
        const u32 y = rank / side;
        fabric.join(rank, y * side + (x + 1) % side).join(rank, (y + 1) % side * side + x);
        coordinates.push_back(static_cast<i32>(x));
        coordinates.push_back(static_cast<i32>(y));
    }
    return fabric.on_grid(2, coordinates).graph();
}

FabricGraph trial_random(u32 seed) {
    std::mt19937_64 random(seed);
    const auto ranks = static_cast<u32>(2 + random() % 6);
    const auto switches = static_cast<u32>(random() % 6);
    TrialFabric fabric(ranks, switches);
    const u32 devices = ranks + switches;
    for (u32 device = 1; device < devices; ++device) {
        fabric.join(device, static_cast<u32>(random() % device), 0.1 * static_cast<double>(1 + random() % 5));
    }
    for (u64 more = random() % 8; more > 0; --more) {
        const auto from = static_cast<u32>(random() % devices);
        const auto to = static_cast<u32>((from + 1 + random() % (devices - 1)) % devices);
        fabric.join(from, to, 0.1 * static_cast<double>(1 + random() % 5));
    }
    return fabric.graph();
}

struct TrialLoads final : LinkLoads {
    double load(u32 link) const override { return link == busy ? 1.0 : 0.0; }
    u32 busy = none;
};

class RouteTrial {
public:
    RouteTrial(const RoutingKind& kind, const FabricGraph& graph, std::string fabric)
        : kind_(kind), graph_(graph), fabric_(std::move(fabric)) {}

    std::string broken() {
        routing_ = make();
        for (u32 from = 0; from < graph_.ranks() && broken_.empty(); ++from) {
            for (u32 to = 0; to < graph_.ranks() && broken_.empty(); ++to) {
                if (from != to) {
                    check({from, to, 3, 5});
                }
            }
        }
        return broken_;
    }

private:
    std::unique_ptr<Routing> make() const { return kind_.make(graph_, {kind_.name, {}, trial_seed}); }

    void breaks(const char* law, const Flow& flow, const std::string& what) {
        if (broken_.empty()) {
            broken_ = std::string(law) + ": from rank " + std::to_string(flow.from) + " to " + std::to_string(flow.to) +
                      " of " + fabric_ + " " + what;
        }
    }

    std::vector<u32> path_of(Routing& routing, const Flow& flow, const LinkLoads* loads = nullptr) const {
        std::vector<u32> path;
        routing.route(flow, loads, path);
        return path;
    }

    void check(const Flow& flow) {
        const std::vector<u32> path = path_of(*routing_, flow);
        if (!joins(flow, path)) {
            return;
        }
        const std::unique_ptr<Routing> other = make();
        path_of(*other, {flow.to, flow.from, 1, 0});
        for (u32 times = 0; times < 3; ++times) {
            if (path_of(*other, flow) != path || path_of(*routing_, flow) != path) {
                breaks("a_path_depends_on_its_flow_alone", flow, "the path is another after others were asked for");
            }
        }
        for (u32 packet = 0; packet < 8 && !kind_.by_packet && !kind_.by_load; ++packet) {
            if (path_of(*routing_, {flow.from, flow.to, flow.number, packet}) != path) {
                breaks("packets_stay_together", flow, "packet " + std::to_string(packet) + " takes a path of its own");
            }
        }
        TrialLoads loads;
        loads.busy = path.front();
        if (!kind_.by_load && path_of(*routing_, flow, &loads) != path) {
            breaks("loads_do_not_matter", flow, "the path is another where its first link is busy");
        }
        if (kind_.divides) {
            check_division(flow);
        }
    }

    bool joins(const Flow& flow, const std::vector<u32>& path) {
        std::vector<bool> is_taken(graph_.links());
        u32 at = flow.from;
        for (const u32 link : path) {
            if (link >= graph_.links() || graph_.from(link) != at) {
                breaks("a_path_joins_its_ends", flow, "a link of the path begins elsewhere than the one before it ends");
                return false;
            }
            if (is_taken[link]) {
                breaks("no_link_comes_twice", flow, "the path takes link " + std::to_string(link) + " twice");
                return false;
            }
            is_taken[link] = true;
            at = graph_.to(link);
        }
        if (at != flow.to) {
            breaks("a_path_joins_its_ends", flow, "the path ends at device " + std::to_string(at));
            return false;
        }
        return true;
    }

    void check_division(const Flow& flow) {
        Division division;
        routing_->divide(flow, division);
        std::vector<double> there(graph_.devices());
        std::vector<bool> is_left(graph_.devices());
        there[flow.from] = 1.0;
        std::vector<double> leaves(graph_.devices());
        for (std::size_t hop = 0; hop < division.links.size(); ++hop) {
            const u32 link = division.links[hop];
            is_left[graph_.from(link)] = true;
            if (is_left[graph_.to(link)]) {
                breaks("a_divided_flow_arrives_whole", flow, "a link comes behind those that it leads to");
            }
            leaves[graph_.from(link)] += division.parts[hop];
            there[graph_.to(link)] += division.parts[hop];
        }
        for (u32 device = 0; device < graph_.devices(); ++device) {
            const double expected = device == flow.to ? 0.0 : there[device];
            if (std::abs(leaves[device] - expected) > nearly_whole) {
                breaks("a_divided_flow_arrives_whole", flow,
                       std::to_string(expected) + " of it come to device " + std::to_string(device) + " and " +
                           std::to_string(leaves[device]) + " leave");
            }
        }
        if (std::abs(there[flow.to] - 1.0) > nearly_whole) {
            breaks("a_divided_flow_arrives_whole", flow, std::to_string(there[flow.to]) + " of it arrive");
        }
    }

    const RoutingKind& kind_;
    const FabricGraph& graph_;
    const std::string fabric_;
    std::unique_ptr<Routing> routing_;
    std::string broken_;
};

std::string broken_without_a_way(const RoutingKind& kind) {
    TrialFabric fabric(3, 0);
    const FabricGraph graph = fabric.join(0, 1).graph();
    std::vector<u32> path;
    try {
        kind.make(graph, {kind.name, {}, trial_seed})->route({0, 2, 0, 0}, nullptr, path);
    } catch (const Unsupported&) {
        return "";
    } catch (const std::invalid_argument&) {
        return "";
    }
    return "where_there_is_no_way_it_says_so: to a rank without links it gives a path of " +
           std::to_string(path.size()) + " links";
}

}  // namespace

std::string broken_law(const RoutingKind& kind) {
    std::vector<std::pair<std::string, FabricGraph>> fabrics;
    fabrics.push_back({"a star of 5", trial_star()});
    fabrics.push_back({"two leaves under two spines", trial_leaves()});
    fabrics.push_back({"a torus of 4 x 4", trial_torus()});
    for (u32 seed = 0; seed < random_fabrics; ++seed) {
        fabrics.push_back({"random graph " + std::to_string(seed), trial_random(seed)});
    }
    std::string refused;
    bool has_run = false;
    for (const auto& [name, graph] : fabrics) {
        try {
            const std::string broken = RouteTrial(kind, graph, name).broken();
            if (!broken.empty()) {
                return broken;
            }
            has_run = true;
        } catch (const std::invalid_argument& lacking) {   // what the routing needs
            refused = lacking.what();
        } catch (const Unsupported& lacking) {
            refused = lacking.what();
        }
    }
    if (!has_run) {
        return "it_runs_on_a_fabric: it refuses all of them, the last with: " + refused;
    }
    return broken_without_a_way(kind);
}

}  // namespace yantra
