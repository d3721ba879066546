// A list of flows, simulated alone: when each is through, at max-min fair rates.
//
// A flow waits from its start for the latency of its route and holds nothing; then it holds every link of the
// route until its bytes are through (the meaning of the golden cases, and of SimGrid's CM02 with the latency
// slept beforehand). `rtt_fairness` weighs each flow by 1 / round trip, twice the latency of its route, as
// SimGrid does with latency on its links (Velho and Legrand, "Accuracy study and improvement of network
// simulation in the SimGrid framework", SIMUTools 2009).
#pragma once

#include <vector>

#include "base/types.hpp"

namespace yantra {

// Columns by flow; routes are links one behind the other, those of flow f from first_hop[f] to first_hop[f + 1].
struct FlowList {
    std::vector<u64> first_hop;
    std::vector<u32> hops;
    std::vector<double> bytes;
    std::vector<double> start_ns;
};

// A link of another rate from a time on: 0 where it fails.
struct RateChange {
    double at_ns = 0.0;
    u32 link = none;
    double bytes_per_ns = 0.0;
};

struct FlowTimes {
    std::vector<double> end_ns;     // by flow; infinite if it never is through
    u64 solves = 0;
};

// `bytes_per_ns` and `latency_ns` by link. std::invalid_argument for a flow that is none. Flows without links, or
// without bytes, take the latency of their route.
FlowTimes simulate_flows(const FlowList& flows, const std::vector<double>& bytes_per_ns,
                         const std::vector<double>& latency_ns, bool rtt_fairness,
                         const std::vector<RateChange>& changes = {});

}  // namespace yantra
