// FlowPartition: which links of a max-min fair network carry the same flows, and how many.
//
// What the ranks of a class send to their k-th destinations is a class of flows. Links are of one
// class if they have equal rate and label and each class of flows crosses them equally often, with
// the same share of bytes; ranks, if their flows cross the same classes of links with equal shares
// and times. Then members have equal rates: in progressive filling (Bertsekas and Gallager, "Data
// Networks", 2nd ed. 1992, section 6.5.2) links of a class fill at one level, and max-min fair
// rates are unique.
//
// Links that every flow crosses together with equal shares (from a leaf to all spines under even
// routing) are one bundle. Trade-off: memory for each pair of ranks; the search gives up on too
// many.
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
    // Destinations of a rank's messages.
    using Flows = std::function<void(u32 rank, const VisitDestination&)>;

    FlowPartition(const Model& model, const Grid& grid, Flows flows);

    // False if it cannot; see why_not().
    bool divide(const Vector<u32>& class_of_rank, u32 classes);
    // Equal for ranks of one class.
    Vector<u64> signature(u32 rank) const;
    // `representatives`: one rank of each class.
    FlowClasses classes_for(const Vector<u32>& representatives) const;
    // Empty if there are only too many flows.
    const std::string& why_not() const { return why_not_; }

private:
    // With the share on each link.
    struct Entry {
        u32 bundle;
        double part;
    };
    struct Crossed {
        u32 links = 0;
        double part = 0.0;
    };
    // Flows of a class, and their total share.
    struct Crossing {
        u32 bundle;
        u32 flow;
        u32 flows;
        u64 parts;      // in units of 1 / `whole`, so sums are exact
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
    // By source:
    Vector<u32> first_pair_;        // by rank, and the end
    Vector<u32> destination_;       // by pair
    Vector<u32> pattern_;           // by rank: which of its destinations are equal
    Vector<double> latency_ns_;     // by pair
    Vector<u64> first_entry_;       // by pair, and the end
    Vector<Entry> entries_;
    Vector<Crossed> crossed_;       // by bundle: on the current way
    Vector<u32> bundles_;           // that it crosses
    Vector<u32> bundle_of_;         // by link
    Vector<u32> links_in_;          // by bundle
    Vector<u32> link_in_;           // by bundle: one of them
    // Of the last division:
    Vector<u32> first_flow_;        // by class of ranks, and the end
    Vector<Crossing> crossings_;    // by bundle, then flow
    Vector<u32> first_crossing_;    // by bundle, and the end
    Vector<u32> class_of_bundle_;
    Vector<u32> bundle_in_;         // by class of links: one of them
};

}  // namespace yantra
