// Refinement: divides the ranks into classes until the members of each class have the same signature.
//
// Starts with one class per job and divides in rounds, as in Paige and Tarjan's partition refinement.
// Where links are folded too, classes of ranks and links are divided in turn until neither changes.
// Trade-off: each round looks at all ranks and not only at those near a change. There are few rounds,
// so this is simpler and costs little.
#pragma once

#include <memory>

#include "base/vector.hpp"
#include "fabric/grid.hpp"
#include "fold/capabilities.hpp"
#include "fold/destinations.hpp"
#include "fold/flow_partition.hpp"
#include "fold/link_classes.hpp"
#include "fold/neighbourhoods.hpp"
#include "fold/rank_classes.hpp"
#include "fold/rank_names.hpp"
#include "fold/search_budget.hpp"
#include "fold/signatures.hpp"

namespace yantra {

class Refinement {
public:
    Refinement(const Model& model, const RankNames& names, const FoldingCapabilities& capabilities,
               u32 least_ranks_per_class);
    // Its parts refer to each other.
    Refinement(const Refinement&) = delete;
    Refinement& operator=(const Refinement&) = delete;

    // False if it gave up: the search takes too long, or there are too many classes to be of use.
    bool run();
    bool takes_too_long() const { return budget_.is_spent(); }

    const RankClasses& classes() const { return classes_; }
    LinkPartition& links() { return links_; }
    // Whether ports are of the classes of their ranks; else, where there are any, links() has their classes.
    bool ports_follow_ranks() const { return ports_follow_ranks_; }
    // Null unless links are shared.
    const FlowPartition* flows() const { return flows_.get(); }

private:
    bool goes_on() const {
        return !budget_.is_spent() && u64{classes_.count()} * least_ranks_per_class_ <= classes_.ranks();
    }
    bool divide_ranks();
    bool divide_by_signatures();
    bool divides_by_links() const {
        const FoldingCapabilities::Network& network = capabilities_.network;
        return network.links_by_class || network.shares_by_class || (network.ports_by_class && !ports_follow_ranks_);
    }
    bool divide_by_links();
    bool divide_links();
    Vector<u64> links_of(u32 rank) const;
    bool nothing_can_differ();
    bool looks_same_from_each(u32 plan);

    const Model& model_;
    const RankNames& names_;
    const FoldingCapabilities& capabilities_;
    const u32 least_ranks_per_class_;
    Grid grid_;
    SearchBudget budget_;
    RankClasses classes_;
    Neighbourhoods neighbourhoods_;
    Signatures signatures_;
    Destinations destinations_;
    LinkPartition links_;
    std::unique_ptr<FlowPartition> flows_;
    bool ports_follow_ranks_ = false;
    bool first_round_ = true;
};

}  // namespace yantra
