// LinkPartition: which links of the congestion-aware network are offered the same messages.
//
// Extends a partition of the ranks to the links. A flow is what a class of ranks sends in one role: to
// the neighbour that a step of a program names, or to a peer; each rank of the class sends a message
// of it over links of its own. Links are of one class if they are crossed by the same flows at the same
// hops, each once. The two partitions together are equitable (see folding.hpp) if the flows of all
// ranks of a class cross links of the same classes, hop by hop. Trade-off: every crossing of every
// flow is written down once, so that classes are compared and not hashed; that is more than the
// partition of the ranks takes, and ends the search where a network has too many.
#pragma once

#include <functional>
#include <vector>

#include "fabric/links.hpp"
#include "fabric/grid.hpp"

namespace yantra {

class LinkPartition {
public:
    using To = std::function<void(u32 dst)>;
    // Calls the second with the destination of each flow of a rank. The ranks of a class have equally
    // many, in order of their roles.
    using Flows = std::function<void(u32 rank, const To&)>;

    // A link that two ranks of one class send the same flow over.
    struct Shared {
        u32 link = none;
        u32 rank = none;
        u32 other = none;
    };

    LinkPartition(const Grid& grid, Flows flows) : grid_(grid), routes_(grid), flows_(std::move(flows)) {}

    // Partitions the links by classes of ranks; false if there are too many crossings.
    bool cut(const std::vector<u32>& class_of_rank, u32 classes);
    // The classes of the links that a rank's flows cross, hop by hop, in numbers that tell flows apart.
    std::vector<u32> way_of(u32 rank) const;
    // What the last cut found, if anything, that no partition of the ranks by their ways settles.
    Shared shared() const;

    const Links& routes() const { return routes_; }
    LinkClasses& classes() { return classes_; }

private:
    template <class Cross>
    void walk(u32 rank, Cross&& cross) const;
    bool write_down(const std::vector<u32>& class_of_rank, u32 classes);
    void compare();

    const Grid& grid_;
    Links routes_;
    Flows flows_;
    std::vector<u32> class_of_rank_;
    LinkClasses classes_;
    std::vector<u32> begin_;      // by link: its crossings below
    std::vector<u32> crossings_;  // flow and hop in one number, by link, ascending
};

}  // namespace yantra
