// Recording: why everything in a run happened when it did.
//
// A run is a graph of moments. A moment is an event that was handled, or the point within one at which
// several things that had to come first had all come (a join). Each names its cause, the moment in which
// it was scheduled: it came so long after its cause as what lies between takes. The edges of a moment
// name what else had to come first and did come in time. So the time of a moment is the latest of its
// cause's time plus its delay and its edges' times: a max-plus system (Baccelli, Cohen, Olsder and
// Quadrat, "Synchronization and linearity", 1992), in which the longest path is found by walking the
// causes back, and what every moment could have been late by in one pass over all edges, last first.
// Trade-off: 24 bytes a moment, 40 a message, 4 an edge; messages keep what moments would repeat.
#pragma once

#include <vector>

#include "base/blocks.hpp"
#include "base/types.hpp"

namespace yantra {

// What lies between a moment and its cause.
enum class Why : u8 {
    nothing,       // no time: a join, or an event for the present
    compute,       // subject: a node; so are the next four
    host,
    memory,
    hand_over,
    reduction,
    carried,       // subject: a message, or its hop: latency and bytes
    departed,      // the same: its bytes alone
    link,          // subject: a hop, whose bytes crossed the link that another message waited for
    server,        // subject: a node, whose request kept a memory busy
    other,         // subject: a node
};

struct Moment {
    u64 time;
    u32 cause;       // none at the start
    u32 first_edge;  // its edges end where the next moment's begin
    u32 subject;     // see Why
    Why why;
};

struct MessageLog {
    u64 bytes;
    u32 source;      // ranks
    u32 destination;
    u32 tag;
    u32 node;        // that sent it, and that received it: places in Outcome::start
    u32 peer_node;
    u32 sent;        // moments
    u32 arrived;
};

// One crossing of one link. It begins when both the message and the link are there.
struct HopLog {
    u32 message;
    u32 link;
    u32 begun;       // moment of the later
    u32 other;       // and of the earlier; none if the link had carried nothing
};

struct Recording {
    bool by_hop = false;           // subjects of messages are hops
    Blocks<Moment> moments;
    Blocks<u32> edges;
    Blocks<MessageLog> messages;
    Blocks<HopLog> hops;
    std::vector<u32> issued;       // by node: moments; none if it did not
    std::vector<u32> ended;
    std::vector<u32> instance;     // by node: which collective it is, the same on all its ranks; or none
    // By rank, or by class of a folded run.
    std::vector<u32> finished;     // moments
    std::vector<u32> first_node;   // into the three above; one more at the end
    std::vector<u32> rank;         // or a class's representative
    std::vector<u64> alike;        // ranks of the class
    std::vector<u32> first_link;   // by dimension, where links are told apart
    std::vector<u32> class_of_link;   // of a folded run, whose hops name one link of a class

    u32 message_of(u32 subject) const { return by_hop ? hops[subject].message : subject; }
    u64 edges_end(u32 moment) const {
        return moment + 1 < moments.size() ? moments[moment + 1].first_edge : edges.size();
    }
    u64 bytes() const { return moments.bytes() + edges.bytes() + messages.bytes() + hops.bytes(); }
};

}  // namespace yantra
