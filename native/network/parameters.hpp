// NetworkParameters: which network, and what it is made of.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "base/vector.hpp"
#include "engine/engine.hpp"
#include "engine/semantics.hpp"
#include "fabric/graph.hpp"
#include "fabric/grid.hpp"
#include "fabric/routing/routing.hpp"
#include "network/choice.hpp"

namespace yantra {

struct NetworkParameters {
    Vector<Dimension> dimensions;
    Vector<std::shared_ptr<const BlockTable>> tables;   // by dimension; null where none
    // Crossed in place of the dimensions' links; or null.
    std::shared_ptr<const FabricGraph> fabric;
    RoutingChoice routing;           // over the fabric
    Vector<u32> placement;      // by rank, then by switch that programs name: its device of the fabric
    Vector<LinkChange> link_changes;   // of the fabric, in order of time
    u64 reroute_delay = 0;           // ticks from a failure or return until ways react
    // By dimension or fabric label: whether links go by formula; or empty.
    std::vector<bool> formula_groups;
    Vector<BackgroundFlow> background;  // in order of time
    NetworkChoice choice;

    u32 ranks() const {
        u32 product = 1;
        for (const Dimension& dimension : dimensions) {
            product *= dimension.size;
        }
        return product;
    }
};

}  // namespace yantra

namespace yantra::inline YANTRA_RUN {

// All of these outlive the network.
struct NetworkSetup {
    const NetworkParameters& parameters;
    const Semantics& semantics;
    const Grid& grid;
    Engine& engine;
    // By rank: its place in an order by behaviour, not by number; equal if indistinguishable.
    std::function<Vector<u16>()> rank_order = [] { return Vector<u16>(); };
};

}  // namespace yantra
