#include "run/late.hpp"

#include <utility>

#include "base/too_long.hpp"
#include "run/simulation.hpp"

namespace yantra::inline YANTRA_RUN {

namespace {

using Found = std::optional<std::pair<ActorId, NodeId>>;

Found node_of_chunk(Simulation& simulation, u32 index) {
    const Chunks& chunks = simulation.collectives().chunks();
    const Chunk& chunk = chunks[ChunkId(index)];
    return std::pair{chunk.actor, chunks.instance(chunk).node};
}

Found node_of(Simulation& simulation, const Event& event) {
    if (event.kind.owner() != Owner::rank_events) {
        return std::nullopt;
    }
    RankEvents& events = simulation.engine().of_ranks;
    Found found;
    bool is_first = true;
    events.for_each(event.index, [&](const RankEvent& of_actor) {
        switch (std::exchange(is_first, false) ? of_actor.kind.owner() : Owner::bus) {
            case Owner::execution:
                found = std::pair{events.actor_of(event.index), NodeId(of_actor.a)};
                break;
            case Owner::exchange:
            case Owner::graph:
            case Owner::custom:
            case Owner::collectives:
                found = node_of_chunk(simulation, of_actor.a);
                break;
            default:
                break;
        }
    });
    return found;
}

Found started_last(const Executor& executor) {
    const auto& actors = executor.state().actors;
    Found last;
    u64 start = 0;
    for (u32 at = 0; at < actors.size(); ++at) {
        const ActorId actor(at);
        for (u32 index = 0; index < actors[actor].waiting.size(); ++index) {
            const NodeId node(index);
            const u64 started = executor.nodes().start_of(actor, node);
            const bool runs = started != never && executor.nodes().end_of(actor, node) == never;
            if (runs && (!last || started > start)) {
                last = std::pair{actor, node};
                start = started;
            }
        }
    }
    return last;
}

}  // namespace

Late late(Simulation& simulation, const TooLong& error) {
    Late at;
    at.tick = simulation.now();
    at.ns = error.ns;
    const auto* const event = dynamic_cast<const TooLate*>(&error);
    Found found = event == nullptr ? std::nullopt : node_of(simulation, event->event);
    if (!found) {
        found = started_last(simulation.executor());
    }
    if (found) {
        at.rank = simulation.actors().rank(found->first).index();
        at.node = found->second.index();
    }
    return at;
}

}  // namespace yantra
