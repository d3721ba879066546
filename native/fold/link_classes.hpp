// LinkPartition: which links are offered the same messages at the same times.
//
// A flow is a message that all ranks of a class send, each over its own route. Links are of one
// class if the same flows cross them at the same hops, each once; ranks stay in one class if their
// routes cross the same classes of links, hop by hop. Trade-off: crossings and routes are stored,
// not only hashed; the search gives up on too many.
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
    // A rank's destinations, equally many and in one order within a class.
    using Flows = std::function<void(u32 rank, const VisitDestination&)>;

    // Two ranks of one class send the same flow over this link at the same hop.
    struct Shared {
        u32 link = none;
        u32 rank = none;
        u32 other = none;
    };

    LinkPartition(const Grid& grid, Flows flows) : routes_(grid), flows_(std::move(flows)) {}

    // False if there are too many crossings.
    bool divide(const Vector<u32>& class_of_rank, u32 classes);
    // Hop by hop; `none` between flows.
    Vector<u32> classes_on_routes(u32 rank) const;
    // `link` is none if there is none. Dividing ranks by classes on their routes cannot remove a
    // shared link.
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
    Vector<u64> hops_begin_;  // by rank: its first hop; one more at the end
    Vector<u32> hops_;        // the links of its flows, hop by hop
    Vector<u32> crossed_;     // by link: how often
    Vector<u32> begin_;       // by link: first crossing; one more at the end
    Vector<u32> crossings_;   // by link, ascending; a number is a flow and a hop
};

}  // namespace yantra
