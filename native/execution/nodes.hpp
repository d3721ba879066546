// Nodes: those of all actors: their jobs, when each ran, and the slots that they take. Later
// arrivals continue the numbers.
#pragma once

#include <memory>
#include <vector>

#include "base/ids.hpp"
#include "engine/actors.hpp"
#include "execution/ready_set.hpp"
#include "model/model.hpp"

namespace yantra::inline YANTRA_RUN {

class Nodes {
public:
    // What every node needs comes first, in one cache line.
    struct alignas(64) Part {
        const Op* ops = nullptr;
        const u32* only_child = nullptr;
        const u32* position = nullptr;      // of each node; null if its number
        const Graph* graph = nullptr;
        u32 first = 0;                      // number of its first node at the actor
        u32 first_place = 0;                // and among the nodes of all actors
        u32 arrival = none;                 // the arrival that brought it
        bool is_template = false;
        bool is_alone = true;               // the actor's only job; valid in the first
        std::shared_ptr<const Job> job;
        RankTables tables;                  // of a template

        u32 place(NodeId node) const { return first_place + node.index() - first; }
        const Op& op(NodeId node) const { return ops[node.index() - first]; }
        u32 communicator(u32 name) const { return is_template ? tables.communicators[name] : name; }
        RankId peer(u32 name) const { return RankId(is_template ? tables.peers[name] : name); }
        // As in Job.
        u32 only_child_of(NodeId node) const { return only_child[node.index() - first]; }
        u64 turn(NodeId node) const {
            const u32 own = node.index();
            return ReadySet::turn_of(own,
                                     position == nullptr ? own : first + position[own - first]);
        }
    };
    class Parts {
    public:
        void push_back(Part&& part) {
            if (first_.job == nullptr) {
                first_ = std::move(part);
            } else {
                later_.push_back(std::move(part));
                first_.is_alone = false;
            }
        }
        const Part& front() const { return first_; }
        const Part& back() const { return later_.empty() ? first_ : later_.back(); }
        bool are_several() const { return !first_.is_alone; }
        const Part& of(NodeId node) const { return first_.is_alone ? first_ : of_several(node); }
        template <class Visit>
        void for_each(Visit&& visit) const {
            visit(first_);
            for (const Part& part : later_) {
                visit(part);
            }
        }

    private:
        [[gnu::noinline]] const Part& of_several(NodeId node) const;

        Part first_;
        std::vector<Part> later_;
    };
    // Ending a node and starting the next reads three cache lines.
    struct alignas(64) OfActor {
        Parts parts;
        ReadySet ready{0};
        u64 done = 0;                  // nodes
        u32 in_flight = 0;
        bool issuing = false;
        bool finished = false;
        std::vector<NodeId> freed;     // nodes freed during an issue pass
        std::vector<u32> waiting;  // parents left, by node; not counted for an only child with one
                                   // parent
        u64 compute_busy = 0;
    };
    struct State {
        IdVector<ActorId, OfActor> actors;
        std::vector<u32> occupied;     // by actor, then by slot
        std::vector<u64> start;        // by place
        std::vector<u64> end;
        std::vector<u64> begun;  // first byte of posted messages that waited; grows when needed
        IdVector<ActorId, u64> finish;
        std::vector<ActorId> finish_order;
        u64 nodes_done = 0;
    };

    Nodes(const Model& model, const Actors& actors);

    const Part& add(ActorId actor, std::shared_ptr<const Job> job, u32 arrival);

    static const Part& part_of(const OfActor& a, NodeId node) { return a.parts.of(node); }
    const Part& part_of(ActorId actor, NodeId node) const {
        return part_of(state_.actors[actor], node);
    }
    const Op& op(ActorId actor, NodeId node) const { return part_of(actor, node).op(node); }
    u32 communicator_of(ActorId actor, NodeId node) const {
        const Part& part = part_of(actor, node);
        return part.communicator(part.op(node).communicator);
    }
    RankId peer_of(ActorId actor, NodeId node) const {
        const Part& part = part_of(actor, node);
        return part.peer(part.op(node).peer);
    }
    u32 place(ActorId actor, NodeId node) const { return part_of(actor, node).place(node); }
    u64 start_of(ActorId actor, NodeId node) const { return state_.start[place(actor, node)]; }
    u64 end_of(ActorId actor, NodeId node) const { return state_.end[place(actor, node)]; }

    u32 slots() const { return slots_; }
    // The last kind is unlimited.
    bool slot_open(ActorId actor, u32 slot) const {
        return slot == slots_ || state_.occupied[actor.index() * slots_ + slot] <
                                     model_.work.resources.capacity[slot];
    }
    void take_slot(ActorId actor, OfActor& a, u32 slot) {
        u32& occupied = state_.occupied[actor.index() * slots_ + slot];
        if (++occupied >= model_.work.resources.capacity[slot]) {
            a.ready.shut(slot);
        }
    }
    void free_slot(ActorId actor, OfActor& a, u32 slot) {
        --state_.occupied[actor.index() * slots_ + slot];
        a.ready.reopen(slot);
    }

    // Forced inline: calls that only prefetch are dropped.
    [[gnu::always_inline]] void fetch(ActorId actor, NodeId node, u8 slot) const {
        const OfActor& a = state_.actors[actor];
        fetch(a, part_of(a, node), node);
        if (slot != unlimited) {
            a.ready.fetch(slot);
        }
    }
    [[gnu::always_inline]] static void fetch(const OfActor& a, const Part& part, NodeId node) {
        __builtin_prefetch(&a.ready, 1);
        if (const u32 child = part.only_child_of(node); child != none) {
            __builtin_prefetch(part.ops + child);
        }
    }

    const State& state() const { return state_; }
    State& state() { return state_; }

private:
    const Model& model_;
    const Actors& actors_;
    u32 slots_;   // kinds
    State state_;
};

}  // namespace yantra
