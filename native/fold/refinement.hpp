// Refinement: divides ranks, in rounds from one class per job, until members have equal signatures
// (Paige and Tarjan). Trade-off: a round visits all ranks.
#pragma once

#include <memory>
#include <vector>

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

    bool run();
    bool takes_too_long() const { return budget_.is_spent(); }

    const RankClasses& classes() const { return classes_; }
    LinkPartition& links() { return links_; }
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
    std::vector<u64> links_of(u32 rank) const;
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
