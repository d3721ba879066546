// A list of flows at max-min fair rates: a flow waits out its route's latency, then holds every
// link until its bytes are through (SimGrid's CM02 with the latency slept first). `rtt_fairness`
// weighs by 1 / round trip (Velho and Legrand, SIMUTools 2009). A finder picks a route at the
// start.
#pragma once

#include <memory>
#include <vector>

#include "network/flow/flow_run.hpp"

namespace yantra {

// 0: the link fails.
struct RateChange {
    double at_ns = 0.0;
    u32 link = none;
    double bytes_per_ns = 0.0;
};

class FlowLoads {
public:
    // Flows for each byte per ns.
    virtual double load(u32 link) const = 0;

protected:
    ~FlowLoads() = default;
};

class RouteFinder {
public:
    RouteFinder() = default;
    RouteFinder(const RouteFinder&) = delete;
    RouteFinder& operator=(const RouteFinder&) = delete;
    virtual ~RouteFinder() = default;
    virtual void find(u32 flow, const FlowLoads& loads, std::vector<u32>& path) = 0;
};

// `changes` are in order of time. std::invalid_argument for an invalid flow.
std::unique_ptr<FlowRun> share_flows(FlowList flows, LinkSpeeds links, bool rtt_fairness,
                                     std::vector<RateChange> changes = {},
                                     bool keeps_series = false,
                                     std::shared_ptr<RouteFinder> finder = nullptr);

}  // namespace yantra
