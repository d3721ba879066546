// LinkPartition: classes of links that the same flows cross at the same hops, and of ranks whose
// routes cross the same classes. Trade-off: crossings and routes are stored; the search gives up on
// too many.
#pragma once

#include <functional>
#include <utility>
#include <vector>

#include "fabric/grid.hpp"
#include "fabric/links.hpp"

namespace yantra {

class LinkPartition {
public:
    using VisitDestination = std::function<void(u32 dst)>;
    using Flows = std::function<void(u32 rank, const VisitDestination&)>;

    // Two ranks of one class send the same flow over it at the same hop.
    struct Shared {
        u32 link = none;
        u32 rank = none;
        u32 other = none;
    };

    LinkPartition(const Grid& grid, Flows flows) : routes_(grid), flows_(std::move(flows)) {}

    bool divide(const std::vector<u32>& class_of_rank, u32 classes);
    // Hop by hop; `none` between flows.
    std::vector<u32> classes_on_routes(u32 rank) const;
    // `link` is none if there is none.
    Shared shared_link() const;

    const Links& routes() const { return routes_; }
    LinkClasses& classes() { return classes_; }

private:
    template <class Visit>
    void for_each_hop(u32 rank, Visit&& visit) const;
    bool record_hops();
    void record_crossings(const std::vector<u32>& class_of_rank, u32 classes);
    void group_links();
    bool crossed_alike(u32 link, u32 other) const;

    Links routes_;
    Flows flows_;
    std::vector<u32> class_of_rank_;
    LinkClasses classes_;
    std::vector<u64> hops_begin_;  // by rank: its first hop; one more at the end
    std::vector<u32> hops_;        // the links of its flows, hop by hop
    std::vector<u32> crossed_;     // by link: how often
    std::vector<u32> begin_;       // by link: first crossing; one more at the end
    std::vector<u32> crossings_;   // by link, ascending; a number is a flow and a hop
};

}  // namespace yantra
