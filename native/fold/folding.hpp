// Folding: ranks that do the same at the same times form a class, and one of each runs: an
// equitable partition (Paige and Tarjan, SIAM J. Comput. 1987; why it is sound: Boldi and Vigna,
// "Fibrations of graphs", Discrete Math. 2002). Trade-off: only neighbours that programs name are
// compared.
#pragma once

#include <string>
#include <vector>

#include "engine/actors.hpp"
#include "fabric/links.hpp"
#include "fold/flow_classes.hpp"
#include "fold/rank_classes.hpp"
#include "model/model.hpp"

namespace yantra {

struct Folding : ActorClasses {
    std::string refusal;                // empty if foldable
    LinkClasses links;                  // where the network keeps one link per class
    FlowClasses flows;                  // where messages share links
    std::vector<Split> splits;          // why ranks are in different classes
    // Classes meet in so many collectives that their messages are most of the run. fold/shortcuts
    // saves these, however few ranks a class has.
    bool spares_messages = false;

    bool ports_are_folded = false;

    bool folds() const { return refusal.empty(); }
    bool links_are_folded() const { return !links.class_of.empty(); }
    bool flows_are_folded() const { return !flows.class_of.empty(); }
};

// Refused, with a reason, below `least_ranks_per_class` on average, unless messages are saved.
Folding fold(const Model& model, u32 least_ranks_per_class = 2);

}  // namespace yantra
