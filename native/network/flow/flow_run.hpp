// FlowRun: a list of flows over links, simulated alone, some steps at a time.
//
// Between two calls the flows that are through can be taken, so a long run can be watched, written as it goes, and
// left. How flows meet is that of the implementations: network/flow/flow_list.hpp shares links, queued_list.hpp
// has a queue for each.
#pragma once

#include <span>
#include <utility>

#include "base/types.hpp"
#include "base/vector.hpp"
#include "record/link_series.hpp"

namespace yantra {

// Columns by flow; routes are links one behind the other, those of flow f from first_hop[f] to first_hop[f + 1].
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

    // So many steps of the simulation, or what is left of it; true if it is over.
    virtual bool run_for(u64 steps) = 0;
    // How often rates were solved; 0 where links are not shared.
    virtual u64 solves() const { return 0; }

    // By flow; infinite while it is not through.
    const Vector<double>& end_ns() const { return end_ns_; }
    u64 ended() const { return ended_; }
    // The flows that are through since this was last asked, in the order in which they were.
    Vector<u32> take_ended() { return std::exchange(just_ended_, {}); }
    // The links of a flow; before it starts those of the list, though they may be others then.
    virtual std::span<const u32> route(u32 flow) const { return flows_.route(flow); }
    // What links carried when, if that was asked for; whole when the run is over.
    const LinkSeries& series() const { return series_; }

protected:
    // std::invalid_argument for a flow that is none, and for speeds that are none.
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
