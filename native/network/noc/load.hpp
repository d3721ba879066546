// Load: a network on chip under open-loop traffic (Dally and Towles 2004, chapter 23): after
// warm-up until three samples are within 5 % of their predecessor's mean; schedule and defaults are
// BookSim 2's. Trade-off: few samples say little near saturation.
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
    u32 most_samples = 10;        // including warm-up
    double unstable_cycles = 500.0;
};

// Cycles, of packets created while measuring.
struct LoadPoint {
    double rate = 0.0;              // offered: flits a node and cycle
    double accepted = 0.0;          // arrived, the same
    double packet_latency = 0.0;    // mean, from creation to the arrival of the last flit
    double network_latency = 0.0;   // mean, from when its head left its node
    double latency_p50 = 0.0;       // of packet_latency
    double latency_p99 = 0.0;
    double latency_most = 0.0;
    double routers = 0.0;           // mean, per packet
    bool is_stable = true;
    u64 packets = 0;
    u64 cycles = 0;                 // all that were simulated
    u64 flit_hops = 0;              // the same: flits through routers
};

// Throws std::invalid_argument, and Unsupported for a deadlock.
LoadPoint measure(const Settings& settings, const LoadOptions& options, double rate);

double zero_load_latency(const Settings& settings, const LoadOptions& options);

// By bisection to `within` flits a node and cycle.
struct Saturation {
    double stable = 0.0;      // the largest load found stable
    double unstable = 0.0;    // the smallest that was not; `stable` if every load is stable
};

Saturation saturation(const Settings& settings, const LoadOptions& options, double within);

}  // namespace yantra::noc
