// FlowPartition: classes of links that each class of flows crosses equally often, and of ranks
// whose flows cross the same: rates are then equal, as max-min fair rates are unique (progressive
// filling: Bertsekas and Gallager, "Data Networks", 2nd ed. 1992, section 6.5.2). Trade-off: memory
// for each pair of ranks; gives up on too many.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

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
    bool divide(const std::vector<u32>& class_of_rank, u32 classes);
    // Equal for ranks of one class.
    std::vector<u64> signature(u32 rank) const;
    // `representatives`: one rank of each class.
    FlowClasses classes_for(const std::vector<u32>& representatives) const;
    const std::string& why_not() const { return why_not_; }

private:
    // Who sends to whom.
    struct Pairs {
        std::vector<u32> first;           // by rank, and the end
        std::vector<u32> destination;
        std::vector<double> latency_ns;
        std::vector<u32> pattern;         // by rank: which of its destinations are equal

        u32 ranks() const { return static_cast<u32>(first.size() - 1); }
        u32 count(u32 rank) const { return end(rank) - begin(rank); }
        u32 begin(u32 rank) const { return first[rank]; }
        u32 end(u32 rank) const { return first[rank + 1]; }
    };
    // Links that are crossed together.
    struct Bundles {
        std::vector<u32> of;      // by link
        std::vector<u32> links;   // by bundle: how many
        std::vector<u32> one;     // by bundle: one of them

        u32 count() const { return static_cast<u32>(links.size()); }
    };
    struct Entry {
        u32 bundle;
        double part;
    };
    struct Crossed {
        u32 links = 0;
        double part = 0.0;
    };
    struct Entries {
        std::vector<u64> first;   // by pair, and the end
        std::vector<Entry> all;

        std::span<const Entry> of(u32 pair) const {
            const auto count = static_cast<std::size_t>(first[pair + 1] - first[pair]);
            return {all.data() + first[pair], count};
        }
    };
    struct Crossing {
        u32 bundle;
        u32 flow;
        u32 flows;
        u64 parts;      // in units of 1 / `whole`, so sums are exact
        double shared;
    };
    struct Crossings {
        std::vector<u32> first_flow;   // by class of ranks, and the end
        std::vector<Crossing> all;     // by bundle, then flow
        std::vector<u32> first;        // by bundle, and the end

        std::span<const Crossing> of(u32 bundle) const {
            return {all.data() + first[bundle], first[bundle + 1] - first[bundle]};
        }
    };
    struct LinkGroups {
        std::vector<u32> of;    // by bundle: its class
        std::vector<u32> one;   // by class: one of its bundles
    };
    static constexpr u64 most_crossings = 100'000'000;
    static constexpr double whole = 1099511627776.0;   // 2^40

    static u64 exact(double part);
    bool prepare();
    bool list_pairs();
    bool make_bundles();
    bool reduce_ways();
    bool add_entries(const Way& way, std::vector<Crossed>& crossed);
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
    std::vector<u32> class_of_rank_;
    Pairs pairs_;
    Bundles bundles_;
    Entries entries_;
    // Of the last division:
    Crossings crossings_;
    LinkGroups classes_;
};

}  // namespace yantra
