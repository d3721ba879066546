#include "execution/executor.hpp"

#include <algorithm>
#include <vector>

#include "base/ensure.hpp"
#include "base/never.hpp"

namespace yantra {

Executor::Executor(const Model& model, const Actors& actors, Engine& engine, Transport& transport,
                   Memory& memory, LocalBandwidth& local, Collectives& collectives,
                   OrderWatcher* watcher)
    : actors_(actors),
      engine_(engine),
      transport_(transport),
      memory_(memory),
      local_(local),
      collectives_(collectives),
      watcher_(watcher),
      probe_(engine.recorder()),
      slow_ranks_(model.work.slow_spells),
      begins_(model.work.begins),
      nodes_(model, actors),
      ready_sets_tell_(ReadySet::tells_open(nodes_.slots())),
      arrivals_(engine),
      log_(actors, nodes_) {
    if (model.semantics.quirks.collectives_start_together) {
        ensure(actors.classes() == nullptr, "collectives that start together are of ranks, not of classes");
        meetings_ = std::make_unique<Meetings>(model);
    }
    const auto nodes = static_cast<u32>(state().start.size());
    probe_.keeps(model.work.resources.capacity, actors.count(), nodes);
    for (u32 at = 0; at < actors.count(); ++at) {
        const ActorId actor(at);
        probe_.plays(state().actors[actor].parts.front().first_place, actors.rank(actor),
                     actors.ranks_of(actor));
    }
    probe_.plays_no_more(nodes);
}

// Every node's path, from end to next start, is inlined into one function: calls would cost as much
// as the work.

// Prefetches nodes a few places on, uncached as ranks alternate. Forced inline, as above.
[[gnu::always_inline]] inline void Executor::fetch_ahead(const Part& part, NodeId node) const {
    constexpr u32 ops_ahead = 16;
    constexpr u32 children_ahead = 24;
    constexpr u32 times_ahead = 16;
    const u32 in_job = node.index() - part.first;
    __builtin_prefetch(part.ops + in_job + ops_ahead);
    __builtin_prefetch(part.only_child + in_job + children_ahead);
    const u32 place = part.place(node) + times_ahead;
    __builtin_prefetch(state().start.data() + place, 1);
    __builtin_prefetch(state().end.data() + place, 1);
    __builtin_prefetch(state().begun.data() + place, 1);
}

[[gnu::always_inline]] inline void Executor::post_message(ActorId actor, const OfActor& a,
                                                          const Part& part, NodeId node,
                                                          const Op& op, bool sends) {
    const RankId rank = actors_.rank(actor);
    const RankId peer = part.peer(op.peer);
    const Actors::Ends ends = actors_.ends(actor, peer, sends);
    const Completion then{done(op), actor.index(), node.index()};
    const u64 order = u64{part.place(node)} << 32U;
    if (watcher_ != nullptr) [[unlikely]] {
        watcher_->message_posted(actor, op.bytes, op.tag, sends ? ends.src : ends.dst, sends);
    }
    if (transport_.post(ends, rank, peer, op.bytes, op.tag, then, sends, order)) {
        Nodes::fetch(a, part, node);   // it ends at once
    }
}

[[gnu::always_inline]] inline void Executor::issue(ActorId actor, OfActor& a, const Part& part,
                                                   NodeId node) {
    const Op& op = part.op(node);
    const u32 at = part.place(node);
    fetch_ahead(part, node);
    const Recorder::Scope scope(engine_.recorder());
    probe_.issued(actor, at, engine_.now(), op);
    state().start[at] = engine_.now();
    log_.starts(actor, node, op);
    if (op.kind == OpKind::skip) {
        skip(actor, part, node);
        return;
    }
    if (meetings_ != nullptr && meets(part, node)) [[unlikely]] {
        ++a.in_flight;
        come_together(actor, part, node);
        return;
    }
    if (op.resource != unlimited) {
        nodes_.take_slot(actor, a, op.resource);
    }
    ++a.in_flight;
    switch (op.kind) {
        case OpKind::send:
            post_message(actor, a, part, node, op, true);
            return;
        case OpKind::receive:
            post_message(actor, a, part, node, op, false);
            return;
        case OpKind::timed:
            if (slow_ranks_.any() && op.busy_ticks > 0) [[unlikely]] {
                const u64 ticks = slower(actor, op);
                a.compute_busy += ticks;
                engine_.of_ranks.schedule(actor, ticks, done(op), node.index());
                return;
            }
            a.compute_busy += op.busy_ticks;
            if (op.busy_ticks > 0) {
                local_.schedule_kernel(actor, op.ticks, op.bytes, done(op), node.index());
            } else {
                local_.schedule(actor, op.ticks, op.bytes, done(op), node.index());
            }
            return;
        case OpKind::collective:
            enter_collective(actor, part, node, op);
            return;
        case OpKind::memory:
            memory_.access({actor, actors_.rank(actor), op.bytes, at, done(op), node.index(),
                            op.ticks});
            return;
        case OpKind::skip:
            break;
    }
    fail("an operation of no known kind");
}

void Executor::make_ready(OfActor& a, std::vector<NodeId> nodes) {
    for (NodeId node : nodes) {
        make_ready(a, Nodes::part_of(a, node), node);
    }
}

void Executor::make_ready(OfActor& a, const Part& part, NodeId node) {
    __builtin_prefetch(&part.op(node) + 1);   // the usual next one
    a.ready.insert_turn(slot_wanted(part, node), part.turn(node));
}

void Executor::put_back(OfActor& a, NodeId node) { make_ready(a, Nodes::part_of(a, node), node); }

// Issues every ready node with a free slot, by position (by id unless scheduled), older jobs first.
// A skipped node that does not wake its rank leaves its children to the next pass; with nothing in
// flight that follows at once (upstream stalls for good).
[[gnu::always_inline]] inline void Executor::issue_ready(ActorId actor, OfActor& a, NodeId child) {
    const auto is_open = [&](u32 slot) {
        return ready_sets_tell_ ? a.ready.is_open(slot) : nodes_.slot_open(actor, slot);
    };
    a.issuing = true;
    u64 turn = ReadySet::nobody;
    if (!child.is_none()) {
        const Part& part = Nodes::part_of(a, child);
        if (is_open(slot_wanted(part, child))) {
            turn = part.turn(child);
        } else {
            make_ready(a, part, std::exchange(child, NodeId::none));
        }
    }
    for (;;) {
        NodeId node = NodeId::none;
        if (a.ready.may_have_open()) {
            node = NodeId(a.ready.take_before(turn, is_open));
        }
        if (node.is_none()) {
            if (child.is_none()) {
                if (a.freed.empty() || a.in_flight > 0) {
                    break;
                }
                make_ready(a, std::exchange(a.freed, {}));
                continue;
            }
            node = std::exchange(child, NodeId::none);
            turn = ReadySet::nobody;
        }
        const Part& part = Nodes::part_of(a, node);
        if (!child.is_none() && !waits_aside(a, child, part.op(node))) [[unlikely]] {
            put_back(a, std::exchange(child, NodeId::none));
            turn = ReadySet::nobody;
        }
        issue(actor, a, part, node);
    }
    if (!a.freed.empty()) [[unlikely]] {
        make_ready(a, std::exchange(a.freed, {}));
    }
    a.issuing = false;
}

// Whether a ready node keeps its slot free while another starts: a message ends nothing.
inline bool Executor::waits_aside(const OfActor& a, NodeId node, const Op& other) {
    return Nodes::part_of(a, node).op(node).resource == unlimited && is_message(other);
}

// Returns a ready child to be issued in its turn; the others go to the ready set.
[[gnu::always_inline]] inline NodeId Executor::release_children(OfActor& a, const Part& part,
                                                                NodeId node) {
    const u32 only = part.only_child_of(node);
    if (only == none || a.issuing) [[unlikely]] {
        return release_several(a, part, node);
    }
    probe_.frees(part.first_place + only);
    return NodeId(part.first + only);
}

NodeId Executor::release_several(OfActor& a, const Part& part, NodeId node) {
    const Graph& graph = *part.graph;
    const u32 in_job = node.index() - part.first;
    const bool deferred = a.issuing && !part.ops[in_job].wakes;
    const bool are_counted = part.only_child_of(node) == none;
    NodeId freed = NodeId::none;
    const u32* const begin = graph.child_begin.data() + in_job;
    const u32* const children = graph.child.data();
    for (u32 i = begin[0]; i < begin[1]; ++i) {
        const u32 child = part.first + children[i];
        probe_.frees(part.first_place + children[i]);
        if (are_counted && --a.waiting[child] > 0) {
            continue;
        }
        if (deferred) {
            a.freed.push_back(NodeId(child));
        } else if (!a.issuing && freed.is_none()) {
            freed = NodeId(child);
        } else {
            make_ready(a, part, NodeId(child));
        }
    }
    return freed;
}

// Nodes on a cycle never become ready; astra-sim semantics drop them, as upstream (the reader
// warns).
[[gnu::always_inline]] inline void Executor::finish_if_done(ActorId actor, OfActor& a) {
    if (a.in_flight == 0 && !a.finished && a.ready.empty()) [[unlikely]] {
        finish(actor, a);
    }
}

void Executor::finish(ActorId actor, OfActor& a) {
    a.finished = true;
    state().finish[actor] = engine_.now();
    probe_.finished(actor);
    state().finish_order.push_back(actor);
    if (state().finish_order.size() == actors_.count()) {
        transport_.ranks_end();
    }
    log_.finishes(actor);
}

void Executor::complete(ActorId actor, NodeId node, EventKind done) {
    const u8 slot = static_cast<u8>(done.kind());
    OfActor& a = state().actors[actor];
    const Part& part = Nodes::part_of(a, node);
    const u32 at = part.place(node);
    if (watcher_ != nullptr) [[unlikely]] {
        watcher_->actor_changes(actor);
    }
    if (slot != unlimited) {
        nodes_.free_slot(actor, a, slot);
    }
    if ((done.kind() & of_collective) != 0) {
        local_.collective_ends(actor, part.op(node).collective == CollectiveKind::all_to_all);
    }
    --a.in_flight;
    ++state().nodes_done;
    ++a.done;
    state().end[at] = engine_.now();
    probe_.ended(actor, at, part.op(node));
    log_.ends(actor, node);
    if (watcher_ != nullptr) [[unlikely]] {
        watcher_->node_ends(actor, node);
    }
    const NodeId child = release_children(a, part, node);
    arrivals_.node_ends(part.arrival);
    issue_ready(actor, a, child);
    if (meetings_ != nullptr && meets(part, node)) [[unlikely]] {
        start_meetings();
    }
    finish_if_done(actor, a);
}

void Executor::start_ready(ActorId actor) {
    OfActor& a = state().actors[actor];
    issue_ready(actor, a, NodeId::none);
    finish_if_done(actor, a);
}

void Executor::start() {
    for (u32 at = 0; at < actors_.count(); ++at) {
        make_roots_ready(ActorId(at), state().actors[ActorId(at)].parts.front());
    }
    for (u32 at = 0; at < actors_.count(); ++at) {
        const ActorId actor(at);
        const u64 begin = begins_.empty() ? 0 : begins_[actors_.rank(actor).index()];
        if (begin > 0) [[unlikely]] {
            engine_.of_ranks.schedule(actor, begin, {Owner::execution, unlimited}, none);
        } else {
            start_ready(actor);
        }
    }
}

std::optional<u64> Executor::done_at() const {
    const std::vector<u64>& finish = state().finish.values();
    const bool is_done = state().finish_order.size() == finish.size() && arrivals_.have_ended();
    return is_done ? std::optional(*std::max_element(finish.begin(), finish.end())) : std::nullopt;
}

void Executor::begin(u32 at) {
    arrivals_[at].begun = engine_.now();
    const LaterJobs::Jobs jobs = arrivals_[at].jobs;
    for (const auto& [actor, job] : jobs) {
        OfActor& a = state().actors[actor];
        if (a.finished) {
            a.finished = false;
            state().finish[actor] = never;
            std::erase(state().finish_order, actor);
        }
        const Part& part = nodes_.add(actor, job, at);
        arrivals_[at].first_place.push_back(part.first_place);
        probe_.grows(state().start.size());
        make_roots_ready(actor, part);
    }
    arrivals_.end_if_done(at);
    for (const auto& [actor, job] : jobs) {
        start_ready(actor);
    }
}

void Executor::make_roots_ready(ActorId actor, const Part& part) {
    OfActor& a = state().actors[actor];
    const u32 nodes = part.graph->size();
    for (u32 node = part.first; node < part.first + nodes; ++node) {
        if (a.waiting[node] == 0) {
            make_ready(a, part, NodeId(node));
        }
    }
}

void Executor::handle_of_actor(ActorId actor, const RankEvent& event) {
    if (event.a == none) [[unlikely]] {   // the rank begins
        probe_.rank_begins(event, engine_.now(), nodes_.place(actor, NodeId(0)));
        start_ready(actor);
        return;
    }
    const NodeId node(event.a);
    probe_.node_done(event, engine_.now(), nodes_.place(actor, node),
                     nodes_.op(actor, node).node_class);
    complete(actor, node, event.kind);
}

void Executor::completed(const Completion& completion) {
    complete(ActorId(completion.a), NodeId(completion.b), completion.kind);
}

void Executor::message_begins(const Completion& completion) {
    const u32 at = nodes_.place(ActorId(completion.a), NodeId(completion.b));
    if (state().begun.size() <= at) {
        state().begun.resize(state().start.size(), never);
    }
    state().begun[at] = engine_.now();
}

u64 Executor::slower(ActorId actor, const Op& op) const {
    return slow_ranks_.ticks(actors_.rank(actor).index(), engine_.now(), op.busy_ticks);
}

void Executor::enter_collective(ActorId actor, const Part& part, NodeId node, const Op& op) {
    local_.collective_begins(actor, op.collective == CollectiveKind::all_to_all);
    collectives_.start({.kind = op.collective,
                        .communicator = part.communicator(op.communicator),
                        .bytes = op.bytes,
                        .involved = op.involved,
                        .priority = op.priority,
                        .custom = op.custom,
                        .actor = actor,
                        .node = node,
                        .place = part.place(node),
                        .then = {done(op), actor.index(), node.index()}});
}

// A node without time takes no slot and, with the quirk, no issue pass.
void Executor::skip(ActorId actor, const Part& part, NodeId node) {
    OfActor& a = state().actors[actor];
    const u32 at = part.place(node);
    state().end[at] = engine_.now();
    probe_.ended(actor, at, part.op(node));
    log_.ends(actor, node);
    ++state().nodes_done;
    ++a.done;
    release_children(a, part, node);
    arrivals_.node_ends(part.arrival);
}

}  // namespace yantra
