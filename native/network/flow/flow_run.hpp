// FlowRun: a list of flows over links, simulated alone, some steps at a time.
//
// Ended flows can be taken between calls, so a long run can be watched, streamed and abandoned.
// Implementations: network/flow/flow_list.hpp shares links, queued_list.hpp queues at each.
#pragma once

#include <span>
#include <utility>

#include "base/types.hpp"
#include "base/vector.hpp"
#include "record/link_series.hpp"

namespace yantra {

// Columns by flow; flow f has links first_hop[f] to first_hop[f + 1].
struct FlowList {
    Vector<u64> first_hop;
    Vector<u32> hops;
    Vector<double> bytes;
    Vector<double> start_ns;

    std::span<const u32> route(std::size_t flow) const {
        return {hops.data() + first_hop[flow], first_hop[flow + 1] - first_hop[flow]};
    }
};

// By link.
struct LinkSpeeds {
    Vector<double> bytes_per_ns;
    Vector<double> latency_ns;
};

class FlowRun {
public:
    FlowRun(const FlowRun&) = delete;
    FlowRun& operator=(const FlowRun&) = delete;
    virtual ~FlowRun() = default;

    // At most `steps`; true if the run is over.
    virtual bool run_for(u64 steps) = 0;
    // How often rates were solved; 0 if not shared.
    virtual u64 solves() const { return 0; }

    // By flow; infinite while under way.
    const Vector<double>& end_ns() const { return end_ns_; }
    u64 ended() const { return ended_; }
    // Since the last call, in order.
    Vector<u32> take_ended() { return std::exchange(just_ended_, {}); }
    // Before the flow starts, the list's, which may change.
    virtual std::span<const u32> route(u32 flow) const { return flows_.route(flow); }
    // What links carried, if requested; complete at the end.
    const LinkSeries& series() const { return series_; }

protected:
    // std::invalid_argument for invalid flows or speeds.
    FlowRun(FlowList flows, LinkSpeeds links, bool keeps_series);

    double latency_of(std::span<const u32> links) const;
    void is_through(u32 flow, double at_ns) {
        end_ns_[flow] = at_ns;
        just_ended_.push_back(flow);
        ++ended_;
    }

    const FlowList flows_;
    const LinkSpeeds links_;
    LinkSeries series_;

private:
    void check() const;

    Vector<double> end_ns_;
    Vector<u32> just_ended_;
    u64 ended_ = 0;
};

}  // namespace yantra
