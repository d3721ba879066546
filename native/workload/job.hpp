// Job: one trace, lowered to what a rank executes. Ranks with the same trace share one Job.
//
// Everything that needs names, attributes or units is settled here, once; execution only reads.
#pragma once

#include <array>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/clock.hpp"
#include "base/types.hpp"
#include "collective/kind.hpp"
#include "trace/graph.hpp"

namespace yantra {

enum class OpKind : u8 { timed, collective, send, receive, memory, skip };

// Statistics class of a node, as upstream groups them.
enum class NodeClass : u8 { gpu, cpu, communication, memory, invalid };

inline constexpr u32 node_classes = 5;

inline constexpr u8 unlimited = 0xff;

struct Op {
    OpKind kind = OpKind::skip;
    NodeClass node_class = NodeClass::invalid;
    u8 resource = unlimited;     // slot the node occupies while it runs
    CollectiveKind collective = CollectiveKind::all_reduce;
    bool wakes = true;           // its completion starts an issue pass
    u32 communicator = 0;
    u32 peer = none;
    u32 tag = 0;
    u32 custom = none;           // custom collective of this node alone
    u64 bytes = 0;
    u64 ticks = 0;               // of a timed node
    u64 busy_ticks = 0;          // counted as compute when it runs
    u64 involved = ~u64{0};      // dimensions of a collective
    i64 priority = 0;
};

struct Roofline {
    bool enabled = false;
    double peak_flops = 0.0;
    double memory_bytes_per_s = 0.0;
};

// How nodes are mapped to the slots of a rank.
struct ResourceMap {
    std::vector<u32> capacity;      // of each slot kind
    u8 cpu = 0;
    u8 compute = 1;
    u8 memory = 2;
    std::vector<u8> collective;     // by communicator
    std::vector<u8> send;           // by communicator
};

struct LowerOptions {
    TimeScale scale = TimeScale::truncated_nanoseconds();
    bool replay_only = false;
    // Whether operations of a trace with complete order hold a slot all the same; a replay never does.
    bool cpu_slots_count = true;
    bool compute_slots_count = true;
    Roofline roofline;
    ResourceMap resources;
    u32 dimensions = 1;
    bool remote_memory = false;
    bool tracks_tensors = false;
    std::unordered_map<std::string, u32> communicators;   // by group name; "" is all ranks
    // A template: communicators and peers are places in the tables of the rank that runs it.
    bool is_template = false;
    std::unordered_map<std::string, u32> peers;   // by comm_peer
    std::unordered_map<u64, u32> custom_by_node;
    u32 offered_kinds = 0;          // bit set of CollectiveKind that have a plan
    std::array<u64, collective_kinds> covered{};    // dimensions the all-rank plan of a kind covers
    // Why the algorithm of a (kind, dimension) cannot run there as the last one visited, or before.
    std::map<std::tuple<u32, u32, bool>, std::string> impossible;
    // Quirks (see docs/reference/quirks.md).
    bool missing_is_cpu_op_means_cpu = false;
    bool skipped_nodes_do_not_wake = false;
    bool broadcast_is_a_timer = false;
    bool zero_op_kernel_never_ends = false;
    bool zero_byte_kernel_is_skipped = false;
    bool no_duration_takes_a_nanosecond = false;
    bool whole_microseconds = false;
    // What if: operations with a duration of their own that take no time, by NodeClass.
    std::array<bool, node_classes> takes_no_time{};
};

// A node that cannot be run, and why; the text names the attribute, what was expected and found.
struct Problem {
    u32 node = none;
    bool unsupported = false;
    std::string text;
};

struct Job {
    std::shared_ptr<const Graph> graph;
    std::vector<Op> ops;
};

std::shared_ptr<const Job> lower(std::shared_ptr<const Graph> graph, const LowerOptions& options,
                                 std::vector<Problem>& problems);

// Problems that depend on which rank runs the job: peers, own rank, membership of a communicator.
std::vector<Problem> check_rank(const Job& job, u32 rank, u32 ranks,
                                const std::function<bool(u32)>& is_member);

// Problems of a trace that stands for a collective among `positions` ranks.
std::vector<Problem> check_custom(const Graph& graph, u32 positions, bool whole_microseconds);

}  // namespace yantra
