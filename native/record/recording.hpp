// Recording: why everything happened when it did: a graph of moments, each the maximum of its cause
// plus delay and its edges (max-plus: Baccelli, Cohen, Olsder and Quadrat, "Synchronization and
// linearity", 1992). Trade-off: 16 bytes a moment, 32 a message, 8 an edge; subjects have 28 bits.
#pragma once

#include <algorithm>
#include <vector>

#include "base/blocks.hpp"
#include "base/types.hpp"
#include "record/link_series.hpp"

namespace yantra {

enum class Why : u8 {
    nothing,       // no time: a join, or an event for the present
    compute,       // subject: a node; so are the next four
    host,
    memory,
    hand_over,
    reduction,
    carried,       // subject: a message, or its hop: latency and bytes
    departed,      // the same: only its bytes
    link,          // subject: a hop, whose bytes crossed the link that another message waited for
    server,        // subject: a node, whose request kept a memory busy
    other,         // subject: a node
    timed,         // the same: a phase of known time since the last member came
    unexplained_device,   // the same: a delay of a recording
    unexplained_host,
    begin,         // the same: the first of a rank that begins later
    communication,   // the same: as recorded
};

struct Moment {
    u64 time;
    u32 cause;       // none at the start
    u32 tagged;      // subject, and above it the reason

    static constexpr u32 subject_bits = 28;
    static constexpr u32 no_subject = (1u << subject_bits) - 1;

    static u32 tag(Why why, u32 subject) {
        return static_cast<u32>(why) << subject_bits | (subject & no_subject);
    }
    Why why() const { return static_cast<Why>(tagged >> subject_bits); }
    u32 subject() const {
        const u32 subject = tagged & no_subject;
        return subject == no_subject ? none : subject;
    }
};

// `to` could not come before `from`.
struct Edge {
    u32 to;
    u32 from;
};

struct MessageLog {
    u64 bytes;
    u32 destination; // rank
    u32 tag;
    u32 node;        // that sent it, and that received it: places in Outcome::start
    u32 peer_node;
    u32 sent;        // moments
    u32 arrived;
};

struct HopLog {
    u32 message;
    u32 link;
    u32 begun;       // moment of the later
    u32 other;       // and of the earlier; none if the link had carried nothing
};

// Evenly, unless `Recording::series` gives the rate.
struct LinkSpan {
    u64 start;
    u64 end;
    u64 bytes;
    u32 link;
    u32 message;
};

struct Recording {
    bool by_hop = false;           // subjects of messages are hops
    bool by_span = false;          // links' loads are in `spans`
    bool by_port = false;          // loads are in `port_spans`, only for ranks' links
    u32 span_groups = 0;
    std::vector<u32> span_group;   // by link: its dimension, or its label in a fabric
    Blocks<LinkSpan> spans;
    Blocks<LinkSpan> port_spans;
    LinkSeries series;             // of links that messages share; else empty
    std::vector<u64> way_latency;  // by message, with spans: ticks
    Blocks<Moment> moments;
    Blocks<Edge> edges;            // by `to`
    Blocks<MessageLog> messages;
    Blocks<HopLog> hops;
    std::vector<u32> issued;       // by node: moments; none if it did not
    std::vector<u32> ended;
    std::vector<u32> instance;     // by node: its collective, the same on all ranks; or none
    // By class of a folded run.
    std::vector<u32> finished;     // moments
    std::vector<u32> first_node;   // into the three above; one more at the end
    std::vector<u32> rank;         // or a class's representative
    std::vector<u64> alike;        // ranks of the class
    std::vector<u32> first_link;   // by dimension, if links are distinguished
    std::vector<u32>
        link_class;  // of every link of a folded run, whose hops name one of each class

    u32 message_of(u32 subject) const { return by_hop ? hops[subject].message : subject; }
    u32 actor_of(u32 place) const {
        const auto after = std::upper_bound(first_node.begin(), first_node.end(), place);
        return static_cast<u32>(after - first_node.begin()) - 1;
    }
    u32 source_of(const MessageLog& message) const { return rank[actor_of(message.node)]; }
    u64 bytes() const {
        return moments.bytes() + edges.bytes() + messages.bytes() + hops.bytes() + spans.bytes() + series.bytes();
    }
};

}  // namespace yantra
