// A list of flows, simulated alone at max-min fair rates.
//
// A flow waits out its route's latency, holding nothing, then holds every link until its bytes are
// through (as the golden cases, and SimGrid's CM02 with the latency slept first). `rtt_fairness`
// weighs by 1 / round trip (twice the latency), as SimGrid does (Velho and Legrand, "Accuracy study
// and improvement of network simulation in the SimGrid framework", SIMUTools 2009).
//
// A finder, if any, picks a flow's route at its start, from the flows then under way, for good;
// else routes are the list's.
#pragma once

#include <memory>

#include "base/vector.hpp"
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
    virtual void find(u32 flow, const FlowLoads& loads, Vector<u32>& path) = 0;
};

// Flows without links or bytes take their latency. `changes` are in order of time.
// std::invalid_argument for an invalid flow.
std::unique_ptr<FlowRun> share_flows(FlowList flows, LinkSpeeds links, bool rtt_fairness,
                                     Vector<RateChange> changes = {}, bool keeps_series = false,
                                     std::shared_ptr<RouteFinder> finder = nullptr);

}  // namespace yantra
