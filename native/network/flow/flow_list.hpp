// A list of flows, simulated alone: when each is through, at max-min fair rates.
//
// A flow waits from its start for the latency of its route and holds nothing; then it holds every link of the
// route until its bytes are through (the meaning of the golden cases, and of SimGrid's CM02 with the latency
// slept beforehand). `rtt_fairness` weighs each flow by 1 / round trip, twice the latency of its route, as
// SimGrid does with latency on its links (Velho and Legrand, "Accuracy study and improvement of network
// simulation in the SimGrid framework", SIMUTools 2009).
//
// With a finder a flow's route is found when it starts, from the flows that have started and are not through; it is
// then kept. Without one routes are those of the list.
#pragma once

#include <memory>

#include "base/vector.hpp"
#include "network/flow/flow_run.hpp"

namespace yantra {

// A link of another rate from a time on: 0 where it fails.
struct RateChange {
    double at_ns = 0.0;
    u32 link = none;
    double bytes_per_ns = 0.0;
};

// What is under way.
class FlowLoads {
public:
    // Flows over a link for each byte per ns.
    virtual double load(u32 link) const = 0;

protected:
    ~FlowLoads() = default;
};

// Finds the links of flows, which depend on loads.
class RouteFinder {
public:
    RouteFinder() = default;
    RouteFinder(const RouteFinder&) = delete;
    RouteFinder& operator=(const RouteFinder&) = delete;
    virtual ~RouteFinder() = default;
    virtual void find(u32 flow, const FlowLoads& loads, Vector<u32>& path) = 0;
};

// The run of a list. Flows without links, or without bytes, take the latency of their route. `changes` are in the
// order of time. std::invalid_argument for a flow that is none.
std::unique_ptr<FlowRun> share_flows(FlowList flows, LinkSpeeds links, bool rtt_fairness,
                                     Vector<RateChange> changes = {}, bool keeps_series = false,
                                     std::shared_ptr<RouteFinder> finder = nullptr);

}  // namespace yantra
