// Load: a network on chip under traffic that does not wait for it, as the field measures it.
//
// Open loop (Dally and Towles 2004, chapter 23): every node draws in every cycle whether it creates a packet, and packets
// wait in queues without end. Some samples warm up; then packets are measured until three samples in a row have the mean
// of the one before within 5 %, or there were enough; then those that were measured are waited for. A load is too much
// if the mean latency, with what is under way, is over a bound at the end of a sample. This is the schedule of BookSim
// 2, whose defaults these are. Trade-off: few samples, so near the end of the scale one run says little; take longer.
#pragma once

#include <string>

#include "base/types.hpp"
#include "network/noc/settings.hpp"

namespace yantra::noc {

struct LoadOptions {
    std::string traffic = "uniform";
    u32 hotspot = 0;              // a node
    u64 sample_cycles = 1000;
    u32 warmup_samples = 3;
    u32 most_samples = 10;        // the first ones included
    double unstable_cycles = 500.0;
};

// Cycles, of packets that were created while it was measured.
struct LoadPoint {
    double rate = 0.0;              // offered: flits a node and cycle
    double accepted = 0.0;          // that arrived, the same
    double packet_latency = 0.0;    // mean, from its creation to the arrival of its last flit
    double network_latency = 0.0;   // mean, from when its head left its node
    double latency_p50 = 0.0;       // of packet_latency
    double latency_p99 = 0.0;
    double latency_most = 0.0;
    double routers = 0.0;           // mean, that a packet crossed
    bool is_stable = true;
    u64 packets = 0;
    u64 cycles = 0;                 // all that were simulated
    u64 flit_hops = 0;              // the same: flits through routers
};

// Throws std::invalid_argument, naming what is wrong, and Unsupported for a deadlock.
LoadPoint measure(const Settings& settings, const LoadOptions& options, double rate);

// The mean of what packets take where nothing is in their way, over the pairs of the traffic.
double zero_load_latency(const Settings& settings, const LoadOptions& options);

// Where a network no longer takes what is offered, by bisection to within `within` flits a node and cycle.
struct Saturation {
    double stable = 0.0;      // the largest load that was found stable
    double unstable = 0.0;    // the smallest that was not; equal to `stable` if all that can be offered is stable
};

Saturation saturation(const Settings& settings, const LoadOptions& options, double within);

}  // namespace yantra::noc
