// Executor: when nodes of the execution graphs are ready and start, and what they do
// (astra-sim-semantics 6).
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "base/ids.hpp"
#include "collective/runtime/collectives.hpp"
#include "engine/actors.hpp"
#include "engine/component.hpp"
#include "engine/engine.hpp"
#include "engine/order_watcher.hpp"
#include "execution/executor_probe.hpp"
#include "execution/happening_log.hpp"
#include "execution/later_jobs.hpp"
#include "execution/meetings.hpp"
#include "execution/nodes.hpp"
#include "execution/slow_ranks.hpp"
#include "memory/memory.hpp"
#include "model/model.hpp"
#include "transport/transport.hpp"

namespace yantra::inline YANTRA_RUN {

class Executor final : public Component {
public:
    Executor(const Model& model, const Actors& actors, Engine& engine, Transport& transport,
             Memory& memory, LocalBandwidth& local, Collectives& collectives, OrderWatcher* watcher);

    void start();

    // Precondition: actors are ranks.
    void begin(u32 arrival);
    // When all that came has ended, if it has.
    std::optional<u64> done_at() const;

    void handle_of_actor(ActorId actor, const RankEvent& event) override;
    void completed(const Completion& completion) override;
    void message_begins(const Completion& completion);

    const Nodes& nodes() const { return nodes_; }
    const Nodes::State& state() const { return nodes_.state(); }
    Nodes::State& state() { return nodes_.state(); }
    HappeningLog& log() { return log_; }
    const HappeningLog& log() const { return log_; }
    LaterJobs& arrivals() { return arrivals_; }
    const LaterJobs& arrivals() const { return arrivals_; }

private:
    using Part = Nodes::Part;
    using OfActor = Nodes::OfActor;

    // Of an actor's events, a: the node; of completions, a: the actor, b: the node.
    static EventKind done(const Op& op) {
        return {Owner::execution, u32{op.resource} | (op.kind == OpKind::collective ? of_collective : 0)};
    }
    static constexpr u32 of_collective = 0x100;

    static bool meets(const Part& part, NodeId node) {
        return part.graph->type[node.index() - part.first] == static_cast<i32>(NodeType::comm_coll);
    }
    // The last kind is unlimited.
    u32 slot_wanted(const Part& part, NodeId node) const {
        const u8 slot = part.op(node).resource;
        return slot == unlimited || (meetings_ != nullptr && meets(part, node)) ? nodes_.slots()
                                                                                : slot;
    }
    [[gnu::noinline]] void come_together(ActorId actor, const Part& part, NodeId node);
    [[gnu::noinline]] void start_meetings();
    void start_in_meeting(const Meetings::Call& call);
    void make_roots_ready(ActorId actor, const Part& part);
    void make_ready(OfActor& a, const Part& part, NodeId node);
    void make_ready(OfActor& a, std::vector<NodeId> nodes);
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
    void finish_if_done(ActorId actor, OfActor& a);
    [[gnu::noinline]] void finish(ActorId actor, OfActor& a);

    const Actors& actors_;
    Engine& engine_;
    Transport& transport_;
    Memory& memory_;
    LocalBandwidth& local_;
    Collectives& collectives_;
    OrderWatcher* watcher_;
    ExecutorProbe probe_;
    SlowRanks slow_ranks_;
    const std::vector<u64>& begins_;
    Nodes nodes_;
    bool ready_sets_tell_;   // which slots are open
    LaterJobs arrivals_;
    HappeningLog log_;
    std::unique_ptr<Meetings> meetings_;   // with the quirk collectives-start-together
};

}  // namespace yantra
