#include "execution/executor.hpp"

#include <algorithm>

#include "base/ensure.hpp"
#include "base/vector.hpp"

namespace yantra {

Executor::Executor(const Model& model, const Actors& actors, Engine& engine, Transport& transport,
                   Memory& memory, LocalBandwidth& local, Collectives& collectives,
                   OrderWatcher* watcher)
    : model_(model),
      actors_(actors),
      engine_(engine),
      transport_(transport),
      memory_(memory),
      local_(local),
      collectives_(collectives),
      watcher_(watcher),
      probe_(engine.recorder()),
      slow_ranks_(model.work.slow_spells),
      slots_(static_cast<u32>(model.work.resources.capacity.size())),
      ready_sets_tell_(ReadySet::tells_open(slots_)) {
    if (model.semantics.quirks.collectives_start_together) {
        ensure(actors.classes() == nullptr, "collectives that start together are of ranks, not of classes");
        meetings_ = std::make_unique<Meetings>(model);
    }
    const Vector<u32>& capacity = model.work.resources.capacity;
    state_.actors.resize(actors.count());
    state_.occupied.resize(std::size_t{actors.count()} * slots_);
    state_.finish.assign(actors.count(), never);
    std::size_t nodes = 0;
    for (u32 at = 0; at < actors.count(); ++at) {
        nodes += model.work.distinct_jobs[model.work.job_of[actors.rank(ActorId(at)).index()]]->graph->size();
    }
    state_.start.reserve(nodes);
    state_.end.reserve(nodes);
    for (u32 at = 0; at < actors.count(); ++at) {
        const ActorId actor(at);
        ReadySet ready(slots_);
        for (u32 slot = 0; slot < slots_; ++slot) {
            if (capacity[slot] == 0) {
                ready.shut(slot);
            }
        }
        state_.actors[actor].ready = std::move(ready);
        add_part(actor, model.work.distinct_jobs[model.work.job_of[actors.rank(actor).index()]], none);
    }
    probe_.keeps(capacity, actors.count(), state_.start.size());
    for (u32 at = 0; at < actors.count(); ++at) {
        probe_.plays(state_.actors[ActorId(at)].parts.front().first_place,
                     actors.rank(ActorId(at)), actors.ranks_of(ActorId(at)));
    }
    probe_.plays_no_more(static_cast<u32>(state_.start.size()));
}

void Executor::add_part(ActorId actor, std::shared_ptr<const Job> job, u32 arrival) {
    OfActor& a = state_.actors[actor];
    Part part;
    part.first = static_cast<u32>(a.waiting.size());
    part.first_place = static_cast<u32>(state_.start.size());
    part.arrival = arrival;
    const u32 rank = actors_.rank(actor).index();
    if (const RankRules* const rules = model_.work.rules[model_.work.job_of[rank]].get();
        rules != nullptr && arrival == none) {
        part.tables = tables_of(*rules, rank);
        part.is_template = true;
    }
    const Graph& graph = *job->graph;
    a.waiting.insert(a.waiting.end(), graph.parent_count.begin(), graph.parent_count.end());
    ensure(state_.start.size() + graph.size() < none, "more nodes in a run than 32 bits count");
    state_.start.resize(state_.start.size() + graph.size(), never);
    state_.end.resize(state_.end.size() + graph.size(), never);
    part.ops = job->ops.data();
    part.graph = &graph;
    part.only_child = job->only_child.data();
    part.position = job->position.empty() ? nullptr : job->position.data();
    part.job = std::move(job);
    a.parts.push_back(std::move(part));
}

// Every node's path, from end to next start, is inlined into one function: calls would cost as much
// as the work.

// Prefetches nodes a few places on, uncached as ranks alternate. The rank's most advanced node may
// be followed by one as far ahead as nodes are under way. Forced inline, as above.
[[gnu::always_inline]] inline void Executor::fetch_ahead(const Part& part, NodeId node) const {
    constexpr u32 ops_ahead = 16;
    constexpr u32 children_ahead = 24;
    constexpr u32 times_ahead = 16;
    const u32 in_job = node.index() - part.first;
    __builtin_prefetch(part.ops + in_job + ops_ahead);
    __builtin_prefetch(part.only_child + in_job + children_ahead);
    const u32 place = part.place(node) + times_ahead;
    __builtin_prefetch(state_.start.data() + place, 1);
    __builtin_prefetch(state_.end.data() + place, 1);
    __builtin_prefetch(state_.begun.data() + place, 1);
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
        fetch_node(a, part, node);   // it ends at once
    }
}

[[gnu::always_inline]] inline void Executor::issue(ActorId actor, OfActor& a, const Part& part,
                                                   NodeId node) {
    const Op& op = part.op(node);
    const u32 at = part.place(node);
    fetch_ahead(part, node);
    const Recorder::Scope scope(engine_.recorder());
    probe_.issued(actor, at, engine_.now(), op);
    state_.start[at] = engine_.now();
    if (notes_ != Notes::nothing &&
        (notes_ == Notes::nodes || op.kind == OpKind::collective)) [[unlikely]] {
        note(actor, node.index(), Happening::starts);
    }
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
        u32& occupied = state_.occupied[actor.index() * slots_ + op.resource];
        if (++occupied >= model_.work.resources.capacity[op.resource]) {
            a.ready.shut(op.resource);
        }
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

void Executor::make_ready(OfActor& a, Vector<NodeId> nodes) {
    for (NodeId node : nodes) {
        make_ready(a, part_of(a, node), node);
    }
}

void Executor::make_ready(OfActor& a, const Part& part, NodeId node) {
    __builtin_prefetch(&part.op(node) + 1);   // the usual next one
    a.ready.insert_turn(slot_wanted(part, node), part.turn(node));
}

void Executor::put_back(OfActor& a, NodeId node) { make_ready(a, part_of(a, node), node); }

// Issues every ready node with a free slot, by position (by id unless scheduled), older jobs first.
// A skipped node that does not wake its rank leaves its children to the next pass; with nothing in
// flight that follows at once (upstream stalls for good). `child`, if any, is ready too, and mostly
// starts without queueing.
[[gnu::always_inline]] inline void Executor::issue_ready(ActorId actor, OfActor& a, NodeId child) {
    const auto is_open = [&](u32 slot) {
        return ready_sets_tell_ ? a.ready.is_open(slot) : slot_open(actor, slot);
    };
    a.issuing = true;
    u64 turn = ReadySet::nobody;
    if (!child.is_none()) {
        const Part& part = part_of(a, child);
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
        const Part& part = part_of(a, node);
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
    return part_of(a, node).op(node).resource == unlimited && is_message(other);
}

// Returns a ready child to be issued in its turn; the others go to the ready set. None during an
// issue pass.
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

// Counts it, so that the arrival's submitter can notice.
[[gnu::always_inline]] inline void Executor::node_of_arrival_ends(const Part& part) {
    if (part.arrival != none) [[unlikely]] {
        count_arrival(part);
    }
}

void Executor::count_arrival(const Part& part) {
    Arrival& arrival = arrivals_[part.arrival];
    if (--arrival.nodes_left == 0) {
        arrival.ended = engine_.now();
        ended_.push_back(part.arrival);
        engine_.pause();
    }
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
    state_.finish[actor] = engine_.now();
    probe_.finished(actor);
    state_.finish_order.push_back(actor);
    if (state_.finish_order.size() == actors_.count()) {
        transport_.ranks_end();
    }
    if (notes_ != Notes::nothing) [[unlikely]] {
        note(actor, none, Happening::finishes);
    }
}

void Executor::complete(ActorId actor, NodeId node, EventKind done) {
    const u8 slot = static_cast<u8>(done.kind());
    OfActor& a = state_.actors[actor];
    const Part& part = part_of(a, node);
    const u32 at = part.place(node);
    if (watcher_ != nullptr) [[unlikely]] {
        watcher_->actor_changes(actor);
    }
    if (slot != unlimited) {
        --state_.occupied[actor.index() * slots_ + slot];
        a.ready.reopen(slot);
    }
    if ((done.kind() & of_collective) != 0) {
        local_.collective_ends(actor, part.op(node).collective == CollectiveKind::all_to_all);
    }
    --a.in_flight;
    ++state_.nodes_done;
    ++a.done;
    state_.end[at] = engine_.now();
    probe_.ended(actor, at, part.op(node));
    if (notes_ == Notes::nodes) [[unlikely]] {
        note(actor, node.index(), Happening::ends);
    }
    if (watcher_ != nullptr) [[unlikely]] {
        watcher_->node_ends(actor, node);
    }
    const NodeId child = release_children(a, part, node);
    node_of_arrival_ends(part);
    issue_ready(actor, a, child);
    if (meetings_ != nullptr && meets(part, node)) [[unlikely]] {
        start_meetings();
    }
    finish_if_done(actor, a);
}

void Executor::start_ready(ActorId actor) {
    OfActor& a = state_.actors[actor];
    issue_ready(actor, a, NodeId::none);
    finish_if_done(actor, a);
}

void Executor::start() {
    for (u32 at = 0; at < actors_.count(); ++at) {
        make_roots_ready(ActorId(at), state_.actors[ActorId(at)].parts.front());
    }
    for (u32 at = 0; at < actors_.count(); ++at) {
        start_ready(ActorId(at));
    }
}

u32 Executor::accept(Vector<std::pair<ActorId, std::shared_ptr<const Job>>> jobs) {
    Arrival made;
    for (const auto& [actor, job] : jobs) {
        made.nodes_left += job->graph->size();
    }
    made.jobs = std::move(jobs);
    arrivals_.push_back(std::move(made));
    return static_cast<u32>(arrivals_.size() - 1);
}

std::optional<u64> Executor::done_at() const {
    const bool is_done = state_.finish_order.size() == actors_.count() &&
                         std::all_of(arrivals_.begin(), arrivals_.end(),
                                     [](const Arrival& arrival) { return arrival.ended != never; });
    const Vector<u64>& finish = state_.finish.values();
    return is_done ? std::optional(*std::max_element(finish.begin(), finish.end())) : std::nullopt;
}

void Executor::begin(u32 at) {
    Arrival& arrival = arrivals_[at];
    arrival.begun = engine_.now();
    const auto jobs = arrival.jobs;
    for (const auto& [actor, job] : jobs) {
        OfActor& a = state_.actors[actor];
        if (a.finished) {
            a.finished = false;
            state_.finish[actor] = never;
            erase(state_.finish_order, actor);
        }
        add_part(actor, job, at);
        arrivals_[at].first_place.push_back(a.parts.back().first_place);
        probe_.grows(state_.start.size());
        make_roots_ready(actor, a.parts.back());
    }
    if (arrivals_[at].nodes_left == 0) {
        arrivals_[at].ended = engine_.now();
        ended_.push_back(at);
        engine_.pause();
    }
    for (const auto& [actor, job] : jobs) {
        start_ready(actor);
    }
}

void Executor::make_roots_ready(ActorId actor, const Part& part) {
    OfActor& a = state_.actors[actor];
    const u32 nodes = part.graph->size();
    for (u32 node = part.first; node < part.first + nodes; ++node) {
        if (a.waiting[node] == 0) {
            make_ready(a, part, NodeId(node));
        }
    }
}

const Executor::Part& Executor::Parts::of_several(NodeId node) const {
    const auto after = std::upper_bound(
        later_.begin(), later_.end(), node.index(),
        [](u32 number, const Part& part) { return number < part.first; });
    return after == later_.begin() ? first_ : *(after - 1);
}

void Executor::handle_of_actor(ActorId actor, const RankEvent& event) {
    const NodeId node(event.a);
    probe_.node_done(event, engine_.now(), place(actor, node), op(actor, node).node_class);
    complete(actor, node, event.kind);
}

void Executor::completed(const Completion& completion) {
    complete(ActorId(completion.a), NodeId(completion.b), completion.kind);
}

// Messages whose other half came first never wait, so most runs of collectives need no column.
void Executor::message_begins(const Completion& completion) {
    const u32 at = place(ActorId(completion.a), NodeId(completion.b));
    if (state_.begun.size() <= at) {
        state_.begun.resize(state_.start.size(), never);
    }
    state_.begun[at] = engine_.now();
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
    OfActor& a = state_.actors[actor];
    const u32 at = part.place(node);
    state_.end[at] = engine_.now();
    probe_.ended(actor, at, part.op(node));
    if (notes_ == Notes::nodes) [[unlikely]] {
        note(actor, node.index(), Happening::ends);
    }
    ++state_.nodes_done;
    ++a.done;
    release_children(a, part, node);
    node_of_arrival_ends(part);
}

}  // namespace yantra
