// The state of the executor; see engine/state.hpp.
#pragma once

#include "execution/executor.hpp"

namespace yantra::inline YANTRA_RUN {

template <class Visitor>
void visit_state(Visitor& v, ActorId actor, Nodes::OfActor& of) {
    auto& [parts, ready, done, in_flight, issuing, finished, freed, waiting, compute_busy] = of;
    v.fixed(parts);
    v.nodes(actor, ready);
    v.elsewhere(waiting);
    v.must_be_empty(freed);
    v.count(compute_busy);
    v.count(done);
    v.count(in_flight);
    v.same(issuing);
    v.same(finished);
}

template <class Visitor>
void visit_state(Visitor& v, Nodes::State& state) {
    auto& [actors, occupied, start, end, begun, finish, finish_order, nodes_done] = state;
    v.all_same(occupied);
    v.elsewhere(start);
    v.elsewhere(end);
    v.elsewhere(begun);
    v.fixed(finish);
    v.fixed(finish_order);
    v.count(nodes_done);
    v.each(actors, [&v](ActorId actor, Nodes::OfActor& of) { visit_state(v, actor, of); });
}

}  // namespace yantra
