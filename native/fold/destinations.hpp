// Destinations: the ranks to which a rank may send, in job order; they may repeat.
#pragma once

#include <vector>

#include "fold/link_classes.hpp"
#include "fold/rank_names.hpp"

namespace yantra {

class Destinations {
public:
    Destinations(const Model& model, const RankNames& names) : model_(model), names_(names) {}

    void for_each(u32 rank, const LinkPartition::VisitDestination& visit) const;
    std::vector<u32> programs_of(const Level& level, u32 kind) const;

private:
    void for_each_of_collective(u32 rank, u32 communicator, u32 kind,
                                const LinkPartition::VisitDestination& visit) const;
    void for_each_of_plan(u32 rank, u32 communicator, u32 kind, const Plan& plan,
                          const LinkPartition::VisitDestination& visit) const;

    const Model& model_;
    const RankNames& names_;
};

}  // namespace yantra
