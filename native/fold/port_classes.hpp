// PortRule: whether ports of ranks of one class carry the same: if each message crosses only links
// of its sender and receiver. Trade-off: it judges plans, not messages, so it refuses some that
// would do.
#pragma once

#include <vector>

#include "fabric/grid.hpp"
#include "fold/destinations.hpp"
#include "fold/rank_names.hpp"
#include "model/model.hpp"

namespace yantra {

class PortRule {
public:
    PortRule(const Model& model, const RankNames& names, const Grid& grid, const Destinations& destinations)
        : model_(model), names_(names), grid_(grid), destinations_(destinations) {}

    bool ports_follow_ranks();

private:
    bool collectives_do(u32 communicator, u32 kinds);
    bool plan_does(const Plan& plan, u32 communicator, u32 kind) const;
    bool level_does(const Level& level, u32 kind) const;
    bool members_do(u32 communicator) const;
    bool pair_does(u32 from, u32 to) const;
    bool goes_to_neighbours(const Level& level, u32 kind) const;

    const Model& model_;
    const RankNames& names_;
    const Grid& grid_;
    const Destinations& destinations_;
    std::vector<u32> seen_;   // by communicator: kinds of collectives already seen
};

}  // namespace yantra
