// Lowering: turns the nodes of a trace into operations that a rank executes.
//
// Names, attributes, units and quirks of a trace are settled here, once per trace. A node that cannot
// be run is a Problem, and the pass goes on, so that all problems are found at once. What a compute
// node becomes stands in lower_compute.cpp, a communication node in lower_communication.cpp.
#pragma once

#include <array>
#include <map>
#include <memory>
#include <string>
#include <tuple>
#include <unordered_map>

#include "base/clock.hpp"
#include "base/vector.hpp"
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
    // Whether operations hold a slot although their trace orders all of them. A replay never does.
    bool cpu_slots_count = true;
    bool compute_slots_count = true;
    Roofline roofline;
    std::shared_ptr<const KernelTable> kernels;   // in place of the roofline and of what was recorded
    ResourceMap resources;
    u32 dimensions = 1;
    bool remote_memory = false;
    std::shared_ptr<const AccessTable> accesses;   // how long they take, if the memory does not say
    bool kernels_share_bandwidth = false;   // so that their bytes count beside their time
    bool tracks_tensors = false;
    std::unordered_map<std::string, u32> communicators;   // by group name; "" is all ranks
    // In a template, communicators and peers are indices into tables of the rank that runs it.
    bool is_template = false;
    std::unordered_map<std::string, u32> peers;   // by comm_peer
    std::unordered_map<u64, u32> custom_by_node;
    u32 offered_kinds = 0;          // bit set of the CollectiveKinds that have a plan
    u32 kinds_by_traces = 0;        // of them, those that traces give over all ranks
    u64 involved_by_default = ~u64{0};   // dimensions of a collective of all ranks without involved_dim, as bits
    std::array<u64, collective_kinds> covered{};    // by kind: bit set of the dimensions its plan covers
    // By kind, dimension and whether it is the last dimension visited: why the algorithm cannot run there.
    std::map<std::tuple<u32, u32, bool>, std::string> impossible;
    bool named_by_system_file = false;   // so that advice names the keys of ASTRA-sim's system file, too
    // Quirks (see docs/concepts/quirks.md).
    bool missing_is_cpu_op_means_cpu = false;
    bool skipped_nodes_do_not_wake = false;
    bool broadcast_is_a_timer = false;
    bool zero_op_kernel_never_ends = false;
    bool zero_byte_kernel_is_skipped = false;
    bool no_duration_takes_a_nanosecond = false;
    bool whole_microseconds = false;
    // Whether kernels of a recording that communicate and have no size count as communication.
    bool kernels_may_communicate = false;
    // For what-if runs, by NodeClass: whether operations with a duration of their own take no time.
    std::array<bool, node_classes> takes_no_time{};
};

// Appends what is wrong with the graph to `problems`; if that is anything, the job is not to be run. `known`, where it
// is not null, is a job of another graph lowered with these options, without a problem: what is alike is taken of it.
std::shared_ptr<const Job> lower(std::shared_ptr<const Graph> graph, const LowerOptions& options,
                                 Vector<Problem>& problems, const Job* known);

}  // namespace yantra
