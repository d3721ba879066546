// Fast-forward's state of a run: each component's, the guard's, and the events.
#pragma once

#include "collective/runtime/state.hpp"
#include "execution/state.hpp"
#include "fold/shortcuts/fast_forward.hpp"
#include "transport/state.hpp"

namespace yantra {

template <class Visitor>
void FastForward::visit(Visitor& v) {
    visit_state(v, run_.executor().state());
    visit_state(v, run_.collectives(), model_.collectives, model_.semantics.quirks.phases_as_ready);
    visit_guard(v);
    visit_events(v);
    visit_state(v, run_.transport().state());
}

template <class Visitor>
void FastForward::visit_guard(Visitor& v) {
    for (u32 at = 0; at < actors(); ++at) {
        const TickOrder::Open open = guard_.found().open(at);
        v.word(open.slots);
        v.word(open.queues.size());
        for (u32 queue : open.queues) {
            v.word(queue);
        }
    }
}

template <class Visitor>
void FastForward::visit_events(Visitor& v) {
    for (const Event& event : run_.engine().queue.pending()) {
        v.word(event.time - run_.now());
        v.same(event.kind);
        if (event.kind.owner() == Owner::rank_events) {
            RankEvents& events = run_.engine().of_ranks;
            const ActorId actor = events.actor_of(event.index);
            events.for_each(event.index,
                            [&](RankEvent& of_actor) { visit_event_of_actor(v, actor, of_actor); });
        } else if (event.kind.owner() == Owner::transport) {
            visit_flight(v, run_.transport().state(), event.index);
        } else {
            v.must(false);
        }
    }
}

template <class Visitor>
void FastForward::visit_event_of_actor(Visitor& v, ActorId actor, RankEvent& own) {
    v.same(own.kind);
    if (own.kind.owner() == Owner::execution) {
        v.node(actor, own.a);
    } else if (own.kind.owner() == Owner::collectives) {
        const Chunk& chunk = run_.collectives().chunks()[ChunkId(own.a)];
        u32 node = run_.collectives().chunks().instance(chunk).node.index();
        u64 number = chunk.id;
        v.node(actor, node);
        v.chunk_number(run_.collectives().tables().communicator_class(chunk.table), number);
    } else {
        v.must(false);
    }
}

}  // namespace yantra
