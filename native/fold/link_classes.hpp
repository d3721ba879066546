// LinkPartition: which links of a network are offered the same messages at the same times.
//
// Divides the links into classes as folding.hpp divides the ranks. All ranks of a class send the same
// messages, each to destinations of its own. A flow is one of these messages: all ranks of the class
// send it, each over the links of its own route. Links are of one class if the same flows cross them at the
// same hops, each flow once. The classes of ranks and links are sound together if the routes of all
// ranks of a class cross links of the same classes, hop by hop. Trade-off: every crossing is recorded
// once, so that classes are compared and not only hashed, and so is every route, as no division changes
// it. This takes more memory than the classes of ranks, and the search gives up where a network has too
// many crossings.
#pragma once

#include <functional>
#include <utility>

#include "base/vector.hpp"
#include "fabric/grid.hpp"
#include "fabric/links.hpp"

namespace yantra {

class LinkPartition {
public:
    using VisitDestination = std::function<void(u32 dst)>;
    // Visits the destination of each flow of a rank. The ranks of a class have equally many flows, in
    // the same order.
    using Flows = std::function<void(u32 rank, const VisitDestination&)>;

    // A link over which two ranks of one class send the same flow at the same hop.
    struct Shared {
        u32 link = none;
        u32 rank = none;
        u32 other = none;
    };

    LinkPartition(const Grid& grid, Flows flows) : routes_(grid), flows_(std::move(flows)) {}

    // Finds the classes of links that follow from classes of ranks; false if there are too many
    // crossings.
    bool divide(const Vector<u32>& class_of_rank, u32 classes);
    // The classes of the links on the routes of a rank, hop by hop. `none` stands between two flows.
    Vector<u32> classes_on_routes(u32 rank) const;
    // A link that ranks of one class share; `link` is none if there is no such link. Dividing the ranks
    // by the classes on their routes cannot remove it.
    Shared shared_link() const;

    const Links& routes() const { return routes_; }
    LinkClasses& classes() { return classes_; }

private:
    template <class Visit>
    void for_each_hop(u32 rank, Visit&& visit) const;
    bool record_hops();
    void record_crossings(const Vector<u32>& class_of_rank, u32 classes);
    void group_links();
    bool crossed_alike(u32 link, u32 other) const;

    Links routes_;
    Flows flows_;
    Vector<u32> class_of_rank_;
    LinkClasses classes_;
    Vector<u64> hops_begin_;  // by rank: where its hops begin; one more at the end
    Vector<u32> hops_;        // the links of its flows, hop by hop
    Vector<u32> crossed_;     // by link: how often
    Vector<u32> begin_;       // by link: where its crossings begin; one more at the end
    Vector<u32> crossings_;   // by link, ascending; a number stands for a flow and a hop of it
};

}  // namespace yantra
