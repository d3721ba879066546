// Destinations: to which ranks a rank may send messages, for collectives and for its own operations.
//
// The order follows the job of the rank, so the destinations of two ranks of one class correspond one
// to one. A destination may come more than once; what counts is which messages cross which links.
#pragma once

#include "base/vector.hpp"
#include "fold/link_classes.hpp"
#include "fold/rank_names.hpp"

namespace yantra {

class Destinations {
public:
    Destinations(const Model& model, const RankNames& names) : model_(model), names_(names) {}

    // Calls `visit` with each destination of a rank.
    void for_each(u32 rank, const LinkPartition::VisitDestination& visit) const;
    // The programs that a level may run for a kind of collective.
    Vector<u32> programs_of(const Level& level, u32 kind) const;

private:
    void for_each_of_collective(u32 rank, u32 communicator, u32 kind,
                                const LinkPartition::VisitDestination& visit) const;
    void for_each_of_plan(u32 rank, u32 communicator, u32 kind, const Plan& plan,
                          const LinkPartition::VisitDestination& visit) const;

    const Model& model_;
    const RankNames& names_;
};

}  // namespace yantra
