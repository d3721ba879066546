// Folding: ranks that do the same at the same times form a class, and one rank of each class runs.
//
// The classes are found before the run. Ranks are divided until all members of a class run equal
// graphs, hold equal places in their communicators, are equally far from the same neighbours, and
// exchange messages with the same classes. Such a partition is called equitable. The method is that of
// Paige and Tarjan ("Three partition refinement algorithms", SIAM J. Comput. 1987). Why ranks of one
// class cannot tell each other apart is shown by Boldi and Vigna ("Fibrations of graphs", Discrete Math.
// 2002). So what a representative sends to a member of another class stands for what each rank of its
// own class sends. Trade-off: only neighbours that programs name are compared. Two ranks can be of one
// class even if no symmetry of the whole cluster maps one to the other.
#pragma once

#include <string>

#include "base/vector.hpp"
#include "engine/actors.hpp"
#include "fabric/links.hpp"
#include "fold/flow_classes.hpp"
#include "fold/rank_classes.hpp"
#include "model/model.hpp"

namespace yantra {

// The classes, as actors of a run, and what else such a run needs.
struct Folding : ActorClasses {
    std::string refusal;                // why nothing is folded; empty if the run can be folded
    LinkClasses links;                  // where the network keeps one link per class
    FlowClasses flows;                  // where its messages share links
    Vector<Split> splits;          // why ranks are in different classes
    // Classes that differ hold so many collectives that their messages are most of a run. Those are not played where
    // each class runs by itself (fold/shortcuts), so that pays however few ranks a class has.
    bool spares_messages = false;

    // Messages wait for the links of ranks alone; classes of `links`, or of their ranks where there are none of those.
    bool ports_are_folded = false;

    bool folds() const { return refusal.empty(); }
    bool links_are_folded() const { return !links.class_of.empty(); }
    bool flows_are_folded() const { return !flows.class_of.empty(); }
};

// Never fails: `refusal` says why a model cannot be folded. It is refused, too, if a class would have
// fewer ranks than `least_ranks_per_class` on average and the run would not be spared messages.
Folding fold(const Model& model, u32 least_ranks_per_class = 2);

}  // namespace yantra
