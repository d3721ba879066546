// Folding: ranks that do the same at the same times, found before a run so that one of each class runs.
//
// Ranks are refined into classes until the members of a class run equal graphs, hold equal places in
// their communicators, lie as far from the same neighbours, and exchange messages with the same classes
// (an equitable partition; "Paige and Tarjan, Three partition refinement algorithms, SIAM J. Comput.
// 1987" for the method, Boldi and Vigna, "Fibrations of graphs", Discrete Math. 2002, for why the ranks of
// a class cannot tell each other apart). What a representative sends to one member of a class then
// stands for what each of its class sends to its own. Trade-off: only neighbours that programs name are
// looked at, so a partition may be coarser than the symmetries of the whole model, and never is finer
// than what positions of unlike neighbours ask for.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "engine/actors.hpp"
#include "fabric/links.hpp"
#include "model/model.hpp"

namespace yantra {

// In what the members of two classes differ.
enum class Difference : u8 { graph, peers, plan, position, neighbours, distance, exchange, links };

// Why `rank` is not in the class of `other`.
struct Split {
    u32 rank = none;
    u32 other = none;
    Difference difference = Difference::graph;
    u32 communicator = none;   // in which they differ, where it is one
    u32 classes = 0;           // there are after the round in which it was found
};

struct Folding : RankClasses {
    std::string refusal;                // why nothing is folded; empty where something is
    LinkClasses links;                       // of the congestion-aware network
    std::vector<Split> splits;

    bool folds() const { return refusal.empty(); }
    bool links_are_folded() const { return !links.class_of.empty(); }
};

// Never fails: what cannot be folded is told in `refusal`, and so is what would leave fewer than
// `worth` ranks to a class.
Folding fold(const Model& model, u32 worth = 2);

}  // namespace yantra
