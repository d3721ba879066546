// FlowPartition: which links of a network that shares them fairly carry the same flows, and how many of each.
//
// Divides links into classes as folding.hpp divides ranks. All ranks of a class send the same messages at the same
// times, each to destinations of its own; what they send to their k-th destinations is a class of flows. Links are
// of one class if they have the same rate and label, and if of each class of flows as many cross each of them, with
// the same part of their bytes. Ranks stay in one class if their flows cross links of the same classes, with the
// same parts and in the same time. Then rates of all members are equal: in progressive filling (Bertsekas and
// Gallager, "Data Networks", 2nd ed. 1992, section 6.5.2) every link of a class is full at the same level, by
// induction over the levels, and max-min fair rates are unique. So one link of each class, with so many flows for
// each one, shows what all do. Unlike a queue, a link may carry several flows of one class.
//
// Ways are looked up twice for each pair of ranks that may talk. Links that every flow crosses together and with
// equal parts, as the cables from a leaf to all spines under an even routing, are one bundle from then on, so that
// rounds cost a few numbers for each pair. All comparisons are of whole contents, none of hashes alone. Trade-off:
// takes memory for each pair, and the search gives up where there are too many.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "base/vector.hpp"
#include "fabric/grid.hpp"
#include "fold/flow_classes.hpp"
#include "model/model.hpp"
#include "network/ways.hpp"

namespace yantra {

class FlowPartition {
public:
    using VisitDestination = std::function<void(u32 dst)>;
    // Visits the destination of each message of a rank, as LinkPartition's does.
    using Flows = std::function<void(u32 rank, const VisitDestination&)>;

    FlowPartition(const Model& model, const Grid& grid, Flows flows);

    // Finds the classes of links that follow from classes of ranks; false if it cannot, see why_not().
    bool divide(const Vector<u32>& class_of_rank, u32 classes);
    // What ranks of one class must have in common: their destinations, and the links on the ways there.
    Vector<u64> signature(u32 rank) const;
    // Of the last division, for these ranks, one of each class.
    FlowClasses classes_for(const Vector<u32>& representatives) const;
    // Empty if there are just too many flows.
    const std::string& why_not() const { return why_not_; }

private:
    // A bundle of links that a flow crosses, and the part of it that each of them carries.
    struct Entry {
        u32 bundle;
        double part;
    };
    // The same while links are counted.
    struct Crossed {
        u32 links = 0;
        double part = 0.0;
    };
    // What crosses a bundle: so many flows of a class, and their parts in all.
    struct Crossing {
        u32 bundle;
        u32 flow;
        u32 flows;
        u64 parts;      // in units of `whole`, in which sums are exact
        double shared;
    };
    static constexpr u64 most_crossings = 100'000'000;
    static constexpr double whole = 1099511627776.0;   // 2^40

    static u64 exact(double part);
    bool prepare();
    bool list_pairs();
    bool make_bundles();
    bool reduce_ways();
    bool add_entries(const Way& way);
    void record_crossings(u32 classes);
    void sort_crossings();
    void group_bundles();
    bool crossed_alike(u32 bundle, u32 other) const;
    Way way_of(u32 pair, u32 flow) const;

    const Model& model_;
    Flows visit_;
    std::unique_ptr<Ways> ways_;
    std::string why_not_;
    bool is_prepared_ = false;
    Vector<u32> class_of_rank_;
    // Pairs of ranks that may talk, by source.
    Vector<u32> first_pair_;        // by rank, and the end
    Vector<u32> destination_;       // by pair
    Vector<u32> pattern_;           // by rank: which of its destinations are one
    Vector<double> latency_ns_;     // by pair
    Vector<u64> first_entry_;       // by pair, and the end
    Vector<Entry> entries_;
    Vector<Crossed> crossed_;       // by bundle: by the way that is looked at
    Vector<u32> bundles_;           // that it crosses
    // Bundles.
    Vector<u32> bundle_of_;         // by link
    Vector<u32> links_in_;          // by bundle
    Vector<u32> link_in_;           // by bundle: one of them
    // Of the last division.
    Vector<u32> first_flow_;        // by class of ranks, and the end
    Vector<Crossing> crossings_;    // by bundle, then flow
    Vector<u32> first_crossing_;    // by bundle, and the end
    Vector<u32> class_of_bundle_;
    Vector<u32> bundle_in_;         // by class of links: one of them
};

}  // namespace yantra
