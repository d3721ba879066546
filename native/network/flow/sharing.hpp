// FlowSharing: flows with bytes to carry at max-min fair rates, and when the next ends; only flows
// with a new owner are visited. Times are real ns of 53 bits. Trade-off: with over 100,000 flows
// whose ends change nearly all rates, a flow leaves late by up to 1/2000 of the time since the
// first began.
#pragma once

#include <span>
#include <vector>

#include "base/indexed_heap.hpp"
#include "base/pool.hpp"
#include "network/flow/max_min.hpp"
#include "record/link_series.hpp"

namespace yantra {

class FlowSharing {
public:
    explicit FlowSharing(std::vector<double> bytes_per_ns);

    // As in MaxMin.
    u32 add_class(std::span<const u32> links, double weight = 1.0, std::span<const double> shares = {});
    const MaxMin& rates() const { return rates_; }
    // Null: nothing.
    void note_in(LinkSeries* series);

    // Flow numbers are reused. Times must not decrease, here and below.
    u32 start(u32 of_class, double bytes, double now_ns);
    void set_capacity(u32 link, double bytes_per_ns, double now_ns);
    // Returns the bytes left.
    double stop(u32 flow, double now_ns);
    double bytes_left(u32 flow, double now_ns);
    double rate(u32 flow) const { return rates_.rate(flows_[flow].of_class); }
    u32 class_of(u32 flow) const { return flows_[flow].of_class; }
    std::vector<u32> flows_of(u32 of_class) const;

    // Of the last change.
    double now_ns() const { return now_ns_; }
    // Infinite if none ever ends.
    double next_end_ns();
    // At the present rates.
    double end_ns(u32 flow);
    // By start.
    void end_next(std::vector<u32>& ended);

private:
    struct OneFlow {
        double due = 0.0;       // count of its owner, in bytes over weight; without an owner, what is left
        u64 order = 0;          // of starting
        u32 of_class = none;
        u32 next = none;        // of its class
        u32 before = none;
        u32 stamp = 0;          // invalidates older heap entries
        bool is_fresh = false;  // without an owner
    };
    struct Entry {
        double due;
        u32 flow;
        u32 stamp;
    };
    struct Owner {
        double count = 0.0;     // bytes over weight let through
        double counted_ns = 0.0;
        double level = 0.0;
        std::vector<Entry> due; // a heap
    };

    void end_front(Owner& owner, std::vector<u32>& ended);
    void settle();
    void count_on(u32 link);
    void take_owner(u32 flow, u32 owner);
    void schedule(u32 link);
    void unlink(u32 flow);
    bool is_stale(const Entry& entry) const { return flows_[entry.flow].stamp != entry.stamp; }

    MaxMin rates_;
    std::vector<Owner> owners_;          // by link
    std::vector<u32> first_flow_;        // by class
    std::vector<u32> owner_of_;          // by class, as the flows have it
    Pool<OneFlow, Freed::readable> flows_;   // stamps
    std::vector<u32> fresh_;
    std::vector<u32> concerned_;         // links, while settling
    IndexedHeap ends_;                   // links, by next end
    double now_ns_ = 0.0;
    u64 started_ = 0;
    u64 under_way_ = 0;
    double busy_since_ns_ = 0.0;
    u64 looks_before_ = 0;     // when it became busy
    bool is_crowd_ = false;
    bool is_settled_ = true;
    LinkSeries* series_ = nullptr;
};

}  // namespace yantra
