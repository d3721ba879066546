// Statistics: totals of a rank's nodes, per class and as a breakdown of its time.
#pragma once

#include <array>
#include <vector>

#include "base/types.hpp"
#include "model/model.hpp"
#include "run/outcome.hpp"
#include "workload/lowering.hpp"

namespace yantra {

// Upstream's end-of-run statistics of one rank (astra-sim-semantics 6.7).
struct RankStatistics {
    u64 wall = 0;                                   // latest end of a node
    std::array<u64, node_classes> class_ticks{};    // length of the union of the class's intervals
    std::vector<NodeClass> classes;  // present ones, in the order upstream prints them
    u64 overlap = 0;                                // gpu + communication - wall, unsigned
    double compute_bound = 0.0;                     // fractions of time, roofline only
    double compute_utilisation = 0.0;
    double memory_utilisation = 0.0;
    double operation_intensity = 0.0;
};

// Each moment counts for the first of these under way, so the parts add up to the rank's finish.
struct Breakdown {
    u64 compute = 0;                 // on the device
    u64 exposed_communication = 0;
    u64 exposed_memory = 0;
    u64 exposed_host = 0;
    u64 unexplained_device = 0;      // of a recording
    u64 unexplained_host = 0;
    u64 waiting = 0;
    u64 idle = 0;
    u64 communication = 0;           // all of it, exposed or not; no part
};

RankStatistics rank_statistics(const Model& model, const Outcome& outcome, u32 rank,
                               const Roofline& roofline);
Breakdown breakdown(const Model& model, const Outcome& outcome, u32 rank);

}  // namespace yantra
