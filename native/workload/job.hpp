// Job: one trace, lowered to what a rank executes. Ranks with the same trace share one Job.
//
// An operation holds numbers only: names, attributes and units are settled once, when a trace is lowered
// (lowering.hpp). The run only reads jobs.
#pragma once

#include <memory>
#include <string>
#include <utility>

#include "base/shared.hpp"
#include "base/types.hpp"
#include "base/vector.hpp"
#include "collective/kind.hpp"
#include "trace/graph.hpp"

namespace yantra {

enum class OpKind : u8 { timed, collective, send, receive, memory, skip };

// What a node counts as in statistics; the groups are upstream's.
enum class NodeClass : u8 { gpu, cpu, communication, memory, invalid };

inline constexpr u32 node_classes = 5;

// A kind of slot of which there are always enough.
inline constexpr u8 unlimited = 0xff;

// A run of many distinct traces has one for every node of every rank, so it is as small as can be: what
// only collectives have shares its place with what they lack. Two are compared by the members named first.
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
        u64 ticks = 0;           // of a timed node; of an access to memory that does not say itself
        i64 priority;            // of a collective
    };
    union {
        u64 busy_ticks = 0;      // of the ticks, counted as compute
        u64 involved;            // of a collective: bit set of its dimensions
    };
};
static_assert(sizeof(Op) == 40);

// A collective of all dimensions by the algorithm of its kind.
inline void make_collective(Op& op) {
    op.kind = OpKind::collective;
    op.custom = none;
    op.priority = 0;
    op.involved = ~u64{0};
}

inline bool is_message(const Op& op) { return op.kind == OpKind::send || op.kind == OpKind::receive; }

// How nodes are mapped to the slots of a rank.
struct ResourceMap {
    Vector<u32> capacity;      // of each slot kind
    u8 cpu = 0;
    u8 compute = 1;
    u8 memory = 2;
    Vector<u8> collective;     // by communicator
    Vector<u8> send;           // by communicator

    // Whether all that communicates is in the slots of memory accesses.
    bool communicates_in_one() const { return capacity.size() == memory + std::size_t{1}; }
    // Whether no slot for what communicates has room for two.
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

// A node that cannot be run, and why. The text names the attribute, what was expected and what came.
struct Problem {
    u32 node = none;
    bool unsupported = false;    // the trace is right, but there is no model for it
    std::string text;
};

struct Job {
    std::shared_ptr<const Graph> graph;
    Vector<Op> ops;
    // Of each node, in the order in which ready ones start; empty where that is the order of nodes.
    Vector<u32> position;
    // Of each node: its only child, if that has no other parent, so that it is ready when the node ends; else none.
    SharedVector<u32> only_child;
};

inline SharedVector<u32> only_children(const Graph& graph) {
    Vector<u32> only(graph.size(), none);
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
