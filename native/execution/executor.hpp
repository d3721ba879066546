// Executor: the nodes of the execution graphs, when they are ready, which slot they hold, what they do
// (astra-sim-semantics 6).
//
// An actor starts with the job that the model gives it. More jobs may arrive while the run goes on;
// their nodes are numbered on from those that are there, and they share the actor's slots.
#pragma once

#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "base/ids.hpp"
#include "base/never.hpp"
#include "collective/runtime/collectives.hpp"
#include "engine/actors.hpp"
#include "engine/engine.hpp"
#include "engine/order_watcher.hpp"
#include "execution/executor_probe.hpp"
#include "execution/happening.hpp"
#include "execution/ready_set.hpp"
#include "execution/slow_ranks.hpp"
#include "memory/memory.hpp"
#include "model/model.hpp"
#include "transport/transport.hpp"

namespace yantra::inline YANTRA_RUN {

class Executor {
public:
    // A job of an actor.
    struct Part {
        std::shared_ptr<const Job> job;
        std::optional<RankTables> tables;   // of a template
        u32 first = 0;                      // number of its first node at the actor
        u32 first_place = 0;                // and among the nodes of all actors
        u32 arrival = none;                 // that brought it
    };
    struct OfActor {
        std::vector<Part> parts;
        std::vector<u32> waiting;      // parents left, by node
        ReadySet ready{0};
        std::vector<u32> occupied;     // by slot
        std::vector<NodeId> freed;     // nodes freed during an issue pass
        u64 compute_busy = 0;
        u64 done = 0;                  // nodes
        u32 in_flight = 0;
        bool issuing = false;
        bool finished = false;
    };
    // Jobs that arrive together.
    struct Arrival {
        std::vector<std::pair<ActorId, std::shared_ptr<const Job>>> jobs;
        u64 nodes_left = 0;
        u64 begun = never;
        u64 ended = never;
        std::vector<u32> first_place;   // by job
    };
    struct State {
        IdVector<ActorId, OfActor> actors;
        std::vector<u64> start;        // by place
        std::vector<u64> end;
        std::vector<u64> begun;        // of posted messages that waited: their first byte; grows when needed
        IdVector<ActorId, u64> finish;
        std::vector<ActorId> finish_order;
        u64 nodes_done = 0;
    };

    Executor(const Model& model, const Actors& actors, Engine& engine, Transport& transport,
             Memory& memory, LocalBandwidth& local, Collectives& collectives, OrderWatcher* watcher);

    // To be called before the start.
    void note(Notes notes) { notes_ = notes; }
    const std::vector<Happening>& happenings() const { return happenings_; }

    // Issues what is ready at the start.
    void start();

    // Takes jobs that will arrive; they do nothing before `begin`. Precondition: actors are ranks.
    u32 accept(std::vector<std::pair<ActorId, std::shared_ptr<const Job>>> jobs);
    void begin(u32 arrival);
    const Arrival& arrival(u32 arrival) const { return arrivals_[arrival]; }
    // Whether all actors have finished, and all jobs that are to arrive have ended.
    bool is_done() const;
    // Those that ended since the last call.
    std::vector<u32> take_ended() { return std::exchange(ended_, {}); }

    [[gnu::noinline]] void handle(ActorId actor, const RankEvent& event);
    void completed(const Completion& completion);
    // The first byte of the message that a posted node waits for moves now.
    void message_begins(const Completion& completion);

    const Op& op(ActorId actor, NodeId node) const {
        const Part& part = part_of(actor, node);
        return part.job->ops[node.index() - part.first];
    }
    u32 communicator_of(ActorId actor, NodeId node) const;
    RankId peer_of(ActorId actor, NodeId node) const;
    const Part& part_of(ActorId actor, NodeId node) const {
        const std::vector<Part>& parts = state_.actors[actor].parts;
        return parts.size() == 1 ? parts.front() : later_part_of(parts, node);
    }
    // Of a node, among those of all actors.
    u32 place(ActorId actor, NodeId node) const {
        const Part& part = part_of(actor, node);
        return part.first_place + node.index() - part.first;
    }
    u64 start_of(ActorId actor, NodeId node) const { return state_.start[place(actor, node)]; }
    u64 end_of(ActorId actor, NodeId node) const { return state_.end[place(actor, node)]; }
    bool slot_open(const OfActor& actor, u32 slot) const {
        return slot == actor.occupied.size() ||
               actor.occupied[slot] < model_.resources.capacity[slot];
    }
    const State& state() const { return state_; }
    State& state() { return state_; }

private:
    // A node is done. The kind says which slot it held, so that nobody looks it up again: the node was
    // read long ago. Of an actor's events, a: the node; of completions, a: the actor, b: the node.
    static EventKind done(u8 slot) { return {Owner::execution, slot}; }

    static const Part& later_part_of(const std::vector<Part>& parts, NodeId node);
    void add_part(ActorId actor, std::shared_ptr<const Job> job, u32 arrival);
    void make_roots_ready(ActorId actor, const Part& part);
    void make_ready(ActorId actor, NodeId node);
    void issue_ready(ActorId actor);
    void issue(ActorId actor, NodeId node);
    void skip(ActorId actor, NodeId node);
    [[gnu::noinline]] u64 slower(ActorId actor, const Op& op) const;
    void enter_collective(ActorId actor, NodeId node, const Op& op);
    void post_message(ActorId actor, NodeId node, const Op& op);
    void complete(ActorId actor, NodeId node, u8 slot);
    void release_children(ActorId actor, NodeId node);
    void node_of_arrival_ends(const Part& part);
    void finish_if_done(ActorId actor);
    [[gnu::noinline]] void note(ActorId actor, u32 node, Happening::What what);

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
    State state_;
    std::vector<Arrival> arrivals_;
    std::vector<u32> ended_;
    Notes notes_ = Notes::nothing;
    std::vector<Happening> happenings_;
};

}  // namespace yantra
