// FlowRun: a list of flows over links, some steps at a time (network/flow/flow_list.hpp shares
// links, queued_list.hpp queues at each).
#pragma once

#include <limits>
#include <span>
#include <utility>
#include <vector>

#include "base/types.hpp"
#include "record/link_series.hpp"

namespace yantra {

// Columns by flow; flow f has links first_hop[f] to first_hop[f + 1].
struct FlowList {
    std::vector<u64> first_hop;
    std::vector<u32> hops;
    std::vector<double> bytes;
    std::vector<double> start_ns;

    std::span<const u32> route(std::size_t flow) const {
        return {hops.data() + first_hop[flow], first_hop[flow + 1] - first_hop[flow]};
    }
};

// By link.
struct LinkSpeeds {
    std::vector<double> bytes_per_ns;
    std::vector<double> latency_ns;
};

class FlowRun {
public:
    FlowRun(const FlowRun&) = delete;
    FlowRun& operator=(const FlowRun&) = delete;
    virtual ~FlowRun() = default;

    virtual bool run_for(u64 steps) = 0;
    virtual u64 solves() const { return 0; }

    // By flow; infinite while under way.
    const std::vector<double>& end_ns() const { return end_ns_; }
    u64 ended() const { return ended_; }
    // Since the last call, in order.
    std::vector<u32> take_ended() { return std::exchange(just_ended_, {}); }
    virtual std::span<const u32> route(u32 flow) const { return flows_.route(flow); }
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
    void begin_again() {
        end_ns_.assign(end_ns_.size(), std::numeric_limits<double>::infinity());
        just_ended_.clear();
        ended_ = 0;
    }

    const FlowList flows_;
    const LinkSpeeds links_;
    LinkSeries series_;

private:
    void check() const;

    std::vector<double> end_ns_;
    std::vector<u32> just_ended_;
    u64 ended_ = 0;
};

}  // namespace yantra
