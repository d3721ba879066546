// Lowering: turns a trace's nodes into operations, once per trace. A node that cannot run is a
// Problem; the pass goes on, to find all.
#pragma once

#include <array>
#include <map>
#include <memory>
#include <string>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "base/clock.hpp"
#include "collective/kind.hpp"
#include "trace/graph.hpp"
#include "workload/accesses.hpp"
#include "workload/job.hpp"
#include "workload/kernels.hpp"

namespace yantra {

struct Roofline {
    bool enabled = false;
    double peak_flops = 0.0;
    double memory_bytes_per_s = 0.0;
};

struct LowerOptions {
    TimeScale scale = TimeScale::truncated_nanoseconds();
    bool replay_only = false;
    // Never in a replay.
    bool cpu_slots_count = true;
    bool compute_slots_count = true;
    Roofline roofline;
    std::shared_ptr<const KernelTable> kernels;   // in place of the roofline and recorded durations
    ResourceMap resources;
    u32 dimensions = 1;
    bool remote_memory = false;
    std::shared_ptr<const AccessTable> accesses;   // their times, if the memory does not say
    bool kernels_share_bandwidth = false;   // so that their bytes count beside their time
    bool tracks_tensors = false;
    std::unordered_map<std::string, u32> communicators;   // by group name; "" is all ranks
    bool is_template = false;
    std::unordered_map<std::string, u32> peers;   // by comm_peer
    std::unordered_map<u64, u32> custom_by_node;
    u32 offered_kinds = 0;          // bit set of the CollectiveKinds that have a plan
    u32 kinds_by_traces = 0;        // of them, those that traces give over all ranks
    u64 involved_by_default = ~u64{0};   // dimensions of a collective of all ranks without involved_dim, as bits
    std::array<u64, collective_kinds> covered{};    // by kind: bit set of the dimensions its plan covers
    // Why the algorithm cannot run there.
    std::map<std::tuple<u32, u32, bool>, std::string> impossible;
    bool named_by_system_file = false;   // advice names the keys of ASTRA-sim's system file, too
    // Quirks (see docs/concepts/quirks.md).
    bool missing_is_cpu_op_means_cpu = false;
    bool skipped_nodes_do_not_wake = false;
    bool broadcast_is_a_timer = false;
    bool zero_op_kernel_never_ends = false;
    bool zero_byte_kernel_is_skipped = false;
    bool no_duration_takes_a_nanosecond = false;
    bool whole_microseconds = false;
    bool kernels_may_communicate = false;
    // For what-if runs.
    std::array<bool, node_classes> takes_no_time{};
};

// Appends to `problems`; if it does, do not run the job. `known`, or null: another graph's job,
// lowered alike, to reuse.
std::shared_ptr<const Job> lower(std::shared_ptr<const Graph> graph, const LowerOptions& options,
                                 std::vector<Problem>& problems, const Job* known);

}  // namespace yantra
