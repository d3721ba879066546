// The state of the collectives; see engine/state.hpp.
#pragma once

#include <algorithm>
#include <vector>

#include "collective/runtime/collectives.hpp"

namespace yantra::inline YANTRA_RUN {

template <class Visitor>
void visit_state(Visitor& v, ActorId actor, Planner::OfActor& of, u64 turns) {
    auto& [robin, chunks, alternations, rotation] = of;
    v.each(robin, [&v](Planner::RoundRobin& at) {
        auto& [any, first, last] = at;
        v.same(any);
        v.same(first);
        v.same(last);
    });
    v.chunks_made(actor, chunks, turns);
    v.each(alternations, [&v](Planner::AlternationCount& at) {
        auto& [counter, base, count] = at;
        v.same(counter);
        v.same(base);
        v.count(count, 2);
    });
    v.same(rotation);
}

template <class Visitor>
void visit_instance(Visitor& v, Chunks& chunks, u32 at) {
    if (!v.comes_to_instance(at)) {
        return;
    }
    auto& [then, actor, node, place, communicator, bytes, chunks_left] = chunks.state().instances[at];
    auto& [kind, of_actor, then_node] = then;
    v.same(kind);
    v.fixed(of_actor);
    v.node(actor, then_node);
    v.fixed(actor);
    v.node(actor, node);
    v.place(actor, place);
    v.same(communicator);
    v.same(bytes);
    v.same(chunks_left);
}

template <class Visitor>
void visit_table(Visitor& v, PeerTables::State& state, u32 at) {
    if (!v.comes_to_table(at)) {
        return;
    }
    auto& [number, communicator_class, next, left, started, phases, chunk, early] = state.tables[at];
    v.must(next == none);
    v.fixed(next);
    v.same(communicator_class);
    v.table_number(at, communicator_class, number);
    v.same(left);
    v.same(started);
    v.fixed(phases);   // those of the chunks
    v.fixed(chunk);
    v.each(chunk, [&v](ChunkId id) { v.word(!id.is_none()); });
    v.must(std::all_of(early.begin(), early.end(), [](u32 arrival) { return arrival == none; }));
    v.fixed(early);
}

template <class Visitor>
void visit_phase(Visitor& v, Phase& phase) {
    auto& [data, level, program, queue, kind, clockwise, fixed_hand_over, idle] = phase;
    v.same(data);
    v.same(level);
    v.same(program);
    v.same(queue);
    v.same(kind);
    v.same(clockwise);
    v.same(fixed_hand_over);
    v.same(idle);
}

template <class Visitor>
void visit_chunk(Visitor& v, Collectives& collectives, ChunkId id) {
    Chunks& chunks = collectives.chunks();
    auto& [number, priority, actor, instance, plan, communicator, custom, first_phase, end_phase, phase, queue, table,
           member, started, turn, later] = chunks[id];
    v.must(table != none && custom == none && collectives.exchange().is_between_phases(id));
    if (!v.possible()) {
        return;
    }
    v.fixed(actor);
    v.fixed(instance);
    visit_instance(v, chunks, instance);
    v.same(plan);
    v.same(communicator);
    v.fixed(custom);
    v.word(end_phase - first_phase);
    v.word(phase - first_phase);
    v.fixed(phase);
    v.fixed(turn);
    v.word(later);
    v.fixed(later);
    for (u32 at = first_phase; at < end_phase + later; ++at) {
        visit_phase(v, chunks.state().phases[at]);
    }
    v.fixed(first_phase);
    v.fixed(end_phase);
    v.same(queue);
    v.fixed(table);
    const u32 communicator_class = collectives.tables().communicator_class(table);
    visit_table(v, collectives.tables().state(), table);
    v.same(member);
    v.chunk_number(communicator_class, number);
    v.priority(actor, priority);
    v.same(started);
}

template <class Visitor>
void visit_state(Visitor& v, ActorId, ChunkQueues::Queue& queue, Collectives& collectives) {
    auto& [chunks, next_start, running] = queue;
    v.elsewhere(next_start);   // with the orders, below
    v.same(running);
    v.each(chunks, [&](ChunkId id) { visit_chunk(v, collectives, id); });
}

template <class Visitor>
void visit_order(Visitor& v, u32 communicator_class, ChunkQueues::PhaseOrder& order) {
    auto& [coming, passed] = order;
    v.fixed(passed);   // only members' distances from it count
    v.each(coming, [&](ChunkQueues::PhaseStart& start) {
        auto& [chunk, phase, members_left, tick] = start;
        v.chunk_number(communicator_class, chunk);
        v.same(phase);
        v.same(members_left);
        v.scratch(tick);
    });
}

template <class Visitor>
void visit_state(Visitor& v, Collectives& collectives, const CollectiveParameters& parameters,
                 bool phases_as_ready) {
    Collectives::State& own = collectives.state();
    auto& [next_priority, mismatch] = own;
    v.must(!mismatch.has_value());
    v.fixed(mismatch);
    v.each(next_priority, [&v](ActorId, i64& next) { v.count(next); });
    const u64 turns = turns_of_chunks(parameters);
    v.each(collectives.planner().state().actors, [&](ActorId actor, Planner::OfActor& of) {
        visit_state(v, actor, of, turns);
    });
    auto& [queues, orders] = collectives.queues().state();
    v.fixed(orders);   // their number; their contents come last
    v.each(queues, [&](ActorId actor, std::vector<ChunkQueues::Queue>& of) {
        for (u32 at = 0; at < of.size(); ++at) {
            if (!of[at].chunks.empty()) {
                v.word(at);
                visit_state(v, actor, of[at], collectives);
            }
        }
        v.word(~u64{0});
    });
    if (phases_as_ready) {
        return;   // there are no orders
    }
    const u32 set = collectives.queues().queues_per_set();
    for (u32 of_class = 0; of_class < orders.size(); ++of_class) {
        for (ChunkQueues::PhaseOrder& order : orders[of_class]) {
            visit_order(v, of_class, order);
        }
    }
    v.each_membership([&](ActorId actor, u32 communicator, u32 of_class) {
        for (u32 at = 0; at < set; ++at) {
            const u64 next_start = queues[actor][parameters.queue_sets[communicator] * set + at].next_start;
            v.word(next_start - orders[of_class][at].passed);
        }
    });
}

}  // namespace yantra
