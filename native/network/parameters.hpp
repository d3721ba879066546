// NetworkParameters: which network, and what it is made of.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "engine/engine.hpp"
#include "engine/semantics.hpp"
#include "fabric/graph.hpp"
#include "fabric/grid.hpp"
#include "fabric/routing/routing.hpp"
#include "network/choice.hpp"

namespace yantra {

struct NetworkParameters {
    std::vector<Dimension> dimensions;
    std::vector<std::shared_ptr<const BlockTable>> tables;   // by dimension; null where none
    std::shared_ptr<const FabricGraph> fabric;
    RoutingChoice routing;           // over the fabric
    std::vector<u32> placement;      // by rank, then by switch that programs name: its device of the fabric
    std::vector<LinkChange> link_changes;   // of the fabric, in order of time
    u64 reroute_delay = 0;           // ticks from a failure or return until ways react
    // By dimension or fabric label; or empty.
    std::vector<bool> formula_groups;
    std::vector<BackgroundFlow> background;  // in order of time
    NetworkChoice choice;

    u32 ranks() const {
        u32 product = 1;
        for (const Dimension& dimension : dimensions) {
            product *= dimension.size;
        }
        return product;
    }
};

struct ExpectedTraffic {
    u32 from = 0;   // ranks
    u32 to = 0;
    double bytes = 0.0;
    double messages = 0.0;
};

// How a network may take several threads.
struct ThreadChoice {
    std::string why_one = "the caller has one thread";   // empty: it may
    std::function<std::vector<ExpectedTraffic>()> traffic;
};

}  // namespace yantra

namespace yantra::inline YANTRA_RUN {

// All of these outlive the network.
struct NetworkSetup {
    const NetworkParameters& parameters;
    const Semantics& semantics;
    const Grid& grid;
    Engine& engine;
    // By rank: its place by behaviour, not by number.
    std::function<std::vector<u16>()> rank_order = [] { return std::vector<u16>(); };
    ThreadChoice threads = {};
};

}  // namespace yantra
