// Executor: nodes of the execution graphs: when they are ready, their slots, what they do
// (astra-sim-semantics 6).
//
// An actor starts with its job of the model. Later arrivals continue the numbers and share its
// slots.
#pragma once

#include <memory>
#include <optional>
#include <utility>

#include "base/ids.hpp"
#include "base/never.hpp"
#include "base/vector.hpp"
#include "collective/runtime/collectives.hpp"
#include "engine/actors.hpp"
#include "engine/component.hpp"
#include "engine/engine.hpp"
#include "engine/order_watcher.hpp"
#include "execution/executor_probe.hpp"
#include "execution/happening.hpp"
#include "execution/meetings.hpp"
#include "execution/ready_set.hpp"
#include "execution/slow_ranks.hpp"
#include "memory/memory.hpp"
#include "model/model.hpp"
#include "transport/transport.hpp"

namespace yantra::inline YANTRA_RUN {

class Executor final : public Component {
public:
    // An actor's job. What every node needs comes first, in one cache line.
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
            return ReadySet::turn_of(own, position == nullptr ? own : first + position[own - first]);
        }
    };
    // The model's job is stored here, arrivals elsewhere, so the usual look-up takes no extra read.
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
        Vector<Part> later_;
    };
    // Ending a node and starting the next reads three cache lines: the part's first, and two from
    // the ready set on.
    struct alignas(64) OfActor {
        Parts parts;
        ReadySet ready{0};
        u64 done = 0;                  // nodes
        u32 in_flight = 0;
        bool issuing = false;
        bool finished = false;
        Vector<NodeId> freed;     // nodes freed during an issue pass
        Vector<u32> waiting;      // parents left, by node; not counted for an only child with one
                                  // parent
        u64 compute_busy = 0;
    };
    struct Arrival {
        Vector<std::pair<ActorId, std::shared_ptr<const Job>>> jobs;
        u64 nodes_left = 0;
        u64 begun = never;
        u64 ended = never;
        Vector<u32> first_place;   // by job
    };
    struct State {
        IdVector<ActorId, OfActor> actors;
        Vector<u32> occupied;     // by actor, then by slot
        Vector<u64> start;        // by place
        Vector<u64> end;
        Vector<u64> begun;        // first byte of posted messages that waited; grows when needed
        IdVector<ActorId, u64> finish;
        Vector<ActorId> finish_order;
        u64 nodes_done = 0;
    };

    Executor(const Model& model, const Actors& actors, Engine& engine, Transport& transport,
             Memory& memory, LocalBandwidth& local, Collectives& collectives, OrderWatcher* watcher);

    // Call before the start.
    void note(Notes notes) {
        notes_ = notes;
        seen_of_groups_.resize(notes == Notes::groups ? actors_.count() : 0);
    }
    const Vector<Happening>& happenings() const { return happenings_; }

    void start();

    // The jobs do nothing before `begin`. Precondition: actors are ranks.
    u32 accept(Vector<std::pair<ActorId, std::shared_ptr<const Job>>> jobs);
    void begin(u32 arrival);
    const Arrival& arrival(u32 arrival) const { return arrivals_[arrival]; }
    std::optional<u64> done_at() const;
    Vector<u32> take_ended() { return std::exchange(ended_, {}); }

    void handle_of_actor(ActorId actor, const RankEvent& event) override;
    void completed(const Completion& completion) override;
    void message_begins(const Completion& completion);

    // Prefetches what is read when a node ends: it, its slot, and the first that waits for it.
    // Forced inline, as the compiler drops calls that only prefetch.
    [[gnu::always_inline]] void fetch_node(ActorId actor, NodeId node, EventKind done) const {
        const OfActor& a = state_.actors[actor];
        fetch_node(a, part_of(a, node), node);
        if (const auto slot = static_cast<u8>(done.kind()); slot != unlimited) {
            a.ready.fetch(slot);
        }
    }
    [[gnu::always_inline]] void fetch_node(const OfActor& a, const Part& part, NodeId node) const {
        __builtin_prefetch(&a.ready, 1);
        if (const u32 child = part.only_child_of(node); child != none) {
            __builtin_prefetch(part.ops + child);
        }
    }

    const Op& op(ActorId actor, NodeId node) const {
        return part_of(actor, node).op(node);
    }
    u32 communicator_of(ActorId actor, NodeId node) const {
        const Part& part = part_of(actor, node);
        return part.communicator(part.op(node).communicator);
    }
    RankId peer_of(ActorId actor, NodeId node) const {
        const Part& part = part_of(actor, node);
        return part.peer(part.op(node).peer);
    }
    const Part& part_of(ActorId actor, NodeId node) const {
        return part_of(state_.actors[actor], node);
    }
    u32 place(ActorId actor, NodeId node) const { return part_of(actor, node).place(node); }
    u64 start_of(ActorId actor, NodeId node) const { return state_.start[place(actor, node)]; }
    u64 end_of(ActorId actor, NodeId node) const { return state_.end[place(actor, node)]; }
    // The last kind is unlimited.
    u32 slot_wanted(const Part& part, NodeId node) const {
        const u8 slot = part.op(node).resource;
        return slot == unlimited || (meetings_ != nullptr && meets(part, node)) ? slots_ : slot;
    }
    bool slot_open(ActorId actor, u32 slot) const {
        return slot == slots_ ||
               state_.occupied[actor.index() * slots_ + slot] < model_.work.resources.capacity[slot];
    }
    const State& state() const { return state_; }
    State& state() { return state_; }

private:
    // The kind holds the slot and whether it was a collective, which saves looking up a node read
    // long ago. Of an actor's events, a: the node; of completions, a: the actor, b: the node.
    static EventKind done(const Op& op) {
        return {Owner::execution, u32{op.resource} | (op.kind == OpKind::collective ? of_collective : 0)};
    }
    static constexpr u32 of_collective = 0x100;

    static const Part& part_of(const OfActor& a, NodeId node) { return a.parts.of(node); }
    // Whether a node waits for other members before it takes a slot.
    static bool meets(const Part& part, NodeId node) {
        return part.graph->type[node.index() - part.first] == static_cast<i32>(NodeType::comm_coll);
    }
    [[gnu::noinline]] void come_together(ActorId actor, const Part& part, NodeId node);
    [[gnu::noinline]] void start_meetings();
    void start_in_meeting(const Meetings::Call& call);
    void add_part(ActorId actor, std::shared_ptr<const Job> job, u32 arrival);
    void make_roots_ready(ActorId actor, const Part& part);
    void make_ready(OfActor& a, const Part& part, NodeId node);
    void make_ready(OfActor& a, Vector<NodeId> nodes);
    void issue_ready(ActorId actor, OfActor& a, NodeId child);
    static bool waits_aside(const OfActor& a, NodeId node, const Op& other);
    [[gnu::noinline]] void put_back(OfActor& a, NodeId node);
    [[gnu::noinline]] void start_ready(ActorId actor);
    void fetch_ahead(const Part& part, NodeId node) const;
    void issue(ActorId actor, OfActor& a, const Part& part, NodeId node);
    [[gnu::noinline]] void skip(ActorId actor, const Part& part, NodeId node);
    [[gnu::noinline]] u64 slower(ActorId actor, const Op& op) const;
    [[gnu::noinline]] void enter_collective(ActorId actor, const Part& part, NodeId node, const Op& op);
    void post_message(ActorId actor, const OfActor& a, const Part& part, NodeId node, const Op& op,
                      bool sends);
    void complete(ActorId actor, NodeId node, EventKind done);
    NodeId release_children(OfActor& a, const Part& part, NodeId node);
    [[gnu::noinline]] NodeId release_several(OfActor& a, const Part& part, NodeId node);
    void node_of_arrival_ends(const Part& part);
    [[gnu::noinline]] void count_arrival(const Part& part);
    void finish_if_done(ActorId actor, OfActor& a);
    [[gnu::noinline]] void finish(ActorId actor, OfActor& a);
    [[gnu::noinline]] void note(ActorId actor, u32 node, Happening::What what);
    bool is_first_of_group(ActorId actor, NodeId node);

    const Model& model_;
    const Actors& actors_;
    Engine& engine_;
    Transport& transport_;
    Memory& memory_;
    LocalBandwidth& local_;
    Collectives& collectives_;
    OrderWatcher* watcher_;
    ExecutorProbe probe_;
    SlowRanks slow_ranks_;
    u32 slots_;   // kinds
    bool ready_sets_tell_;   // which slots are open
    State state_;
    Vector<Arrival> arrivals_;
    Vector<u32> ended_;
    Notes notes_ = Notes::nothing;
    Vector<Happening> happenings_;
    std::unique_ptr<Meetings> meetings_;   // with the quirk collectives-start-together
    IdVector<ActorId, Vector<u16>> seen_of_groups_;   // by group of the trace, bits of types; where these are noted
};

}  // namespace yantra
