// EpisodeTree: what was sent in episodes (network/packet/episodes.hpp), and what was heard after it. A
// node is a batch sent in one tick; those that followed it are its branches. Trade-off: all is kept
// until there is too much, then nothing.
#pragma once

#include <span>
#include <unordered_map>
#include <vector>

#include "network/packet/flow_spec.hpp"
#include "network/packet/state.hpp"

namespace yantra::packet {

class EpisodeTree {
public:
    struct Heard {
        u64 after = 0;           // ticks since the episode began
        u32 batch = 0;           // in which the flow was sent
        u32 place = 0;           // in it
        bool is_completed = false;
    };
    struct Batch {
        u64 after = 0;           // ticks since the episode began
        bool is_after = false;   // what was heard in that tick
        std::span<const FlowSpec> sent;
    };
    struct Node {
        u64 after = 0;
        bool is_after = false;
        std::vector<FlowSpec> sent;
        std::vector<Heard> heard;   // until the next batch
        u64 known = 0;           // ticks since the episode began, until which all that is heard is known
        bool with_it = false;    // and in that tick
        std::vector<u32> next;
        std::vector<bool> turns_before;   // of ports, where the episode begins
        bool is_last = false;    // then, where it ends:
        u64 rest = 0;            // ticks until the last event
        AllCounts counted;
        std::vector<bool> turns;

        bool knows(u64 when) const { return is_last || when < known || (when == known && with_it); }
        bool is_full() const;
    };

    Node& operator[](u32 node) { return nodes_[node]; }
    const Node& operator[](u32 node) const { return nodes_[node]; }

    // `none` if there is none.
    u32 first(const Batch& batch, const std::vector<bool>& turns) const;
    u32 next(u32 of, const Batch& batch) const;
    u32 add_first(const Batch& batch, std::vector<bool> turns);
    u32 add_next(u32 of, const Batch& batch);
    // Up to what is known; false if too much is kept.
    bool hear(u32 of, const Heard& heard);
    void leave_out_unknown(u32 of);
    void forget_if_full();

private:
    u32 add(const Batch& batch);

    std::vector<Node> nodes_;
    std::unordered_map<u64, std::vector<u32>> first_;   // by batch
    std::size_t kept_ = 0;                              // sent and heard
};

}  // namespace yantra::packet
