// Job: one trace, lowered to what a rank executes, in numbers only (lowering.hpp); shared by ranks
// with the same trace.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/shared.hpp"
#include "base/types.hpp"
#include "collective/kind.hpp"
#include "trace/graph.hpp"

namespace yantra {

enum class OpKind : u8 { timed, collective, send, receive, memory, skip };

// Upstream's groups, for statistics; and a recording's delays, which nothing in it explains.
enum class NodeClass : u8 { gpu, cpu, communication, memory, invalid, unexplained_device, unexplained_host };

inline constexpr u32 node_classes = 7;

// Upstream takes delays for work.
constexpr NodeClass upstream_class(NodeClass of) {
    return of == NodeClass::unexplained_device ? NodeClass::gpu
           : of == NodeClass::unexplained_host ? NodeClass::cpu
                                               : of;
}

// A kind of slot without limit.
inline constexpr u8 unlimited = 0xff;

// Kept small: members for collectives share their place with others'.
struct Op {
    OpKind kind = OpKind::skip;
    NodeClass node_class = NodeClass::invalid;
    u8 resource = unlimited;     // kind of slot that the node occupies while it runs
    CollectiveKind collective : 7 = CollectiveKind::all_reduce;
    bool wakes : 1 = true;       // whether its end lets other nodes of the rank start
    u32 communicator = 0;
    u32 peer = none;
    union {
        u32 tag = 0;             // of a message
        u32 custom;              // of a collective: the custom one for this node alone, or none
    };
    u64 bytes = 0;
    union {
        u64 ticks = 0;           // of a timed node; of a memory access without a time of its own
        i64 priority;            // of a collective
    };
    union {
        u64 busy_ticks = 0;      // the part of `ticks` counted as compute
        u64 involved;            // of a collective: bit set of its dimensions
    };
};
static_assert(sizeof(Op) == 40);

inline void make_collective(Op& op) {
    op.kind = OpKind::collective;
    op.custom = none;
    op.priority = 0;
    op.involved = ~u64{0};
}

inline bool is_message(const Op& op) { return op.kind == OpKind::send || op.kind == OpKind::receive; }

struct ResourceMap {
    std::vector<u32> capacity;      // of each slot kind
    u8 cpu = 0;
    u8 compute = 1;
    u8 memory = 2;
    std::vector<u8> collective;     // by communicator
    std::vector<u8> send;           // by communicator

    bool communicates_in_one() const { return capacity.size() == memory + std::size_t{1}; }
    bool communicates_one_by_one() const {
        for (std::size_t slot = 0; slot < capacity.size(); ++slot) {
            const bool is_other = slot == cpu || slot == compute || (slot == memory && !communicates_in_one());
            if (!is_other && capacity[slot] != 1) {
                return false;
            }
        }
        return true;
    }
};

struct Problem {
    u32 node = none;
    bool unsupported = false;    // the trace is right, but there is no model for it
    std::string text;
};

struct Job {
    std::shared_ptr<const Graph> graph;
    std::vector<Op> ops;
    // Empty if that of nodes.
    std::vector<u32> position;
    // Its only child, if that has no other parent; else none.
    SharedVector<u32> only_child;
};

inline SharedVector<u32> only_children(const Graph& graph) {
    std::vector<u32> only(graph.size(), none);
    for (u32 node = 0; node < graph.size(); ++node) {
        const u32 at = graph.child_begin[node];
        if (graph.child_begin[node + 1] == at + 1 && graph.parent_count[graph.child[at]] == 1) {
            only[node] = graph.child[at];
        }
    }
    return SharedVector<u32>(std::move(only));
}

inline u32 position_of(const Job& job, u32 node) {
    return job.position.empty() ? node : job.position[node];
}

}  // namespace yantra
