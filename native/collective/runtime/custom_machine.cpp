#include "collective/runtime/custom_machine.hpp"

#include <algorithm>
#include <vector>

#include "base/ensure.hpp"
#include "collective/reduction.hpp"
#include "transport/tags.hpp"

namespace yantra {

namespace {

constexpr i32 send_node = 5;      // Chakra's COMM_SEND_NODE
constexpr i32 receive_node = 6;   // and COMM_RECV_NODE

u32 node_with(const Graph& graph, u64 id) {
    const auto found = std::lower_bound(graph.id.begin(), graph.id.end(), id);
    return static_cast<u32>(found - graph.id.begin());
}

}  // namespace

const CustomPosition& CustomMachine::position_of(const Chunk& chunk) const {
    const CustomCollective& custom = parameters_.custom[chunk.custom];
    const u32 rank = actors_.rank(chunk.actor).index();
    if (!custom.over_members) {
        return custom.positions[rank];
    }
    const u32 offset = rank - parameters_.communicators[chunk.communicator].base;
    return custom.positions[parameters_.layout_of(chunk.communicator).shape->place(offset)];
}

RankId CustomMachine::rank_named(const Chunk& chunk, u32 number) const {
    if (!parameters_.custom[chunk.custom].over_members) {
        return RankId(number);
    }
    return RankId(parameters_.communicators[chunk.communicator].base +
                  parameters_.layout_of(chunk.communicator).shape->offset(number));
}

u64 CustomMachine::bytes_of(const Chunk& chunk, u32 node) const {
    return custom_bytes(trace_of(chunk), node, chunks_.instance(chunk).bytes);
}

// 0 if no reduction.
u64 CustomMachine::reduced_bytes(const Chunk& chunk, u32 node) const {
    const Graph& graph = trace_of(chunk);
    const bool reduces = graph.recorded_ns(node, semantics_.quirks.whole_microseconds) == 0 &&
                         has_chunks(graph, node);
    return reduces ? bytes_of(chunk, node) : 0;
}

// The recorded time or, if there is only a reduced size, that of a local reduction.
u64 CustomMachine::ticks_of(const Chunk& chunk, u32 node) const {
    if (parameters_.system.custom_work_takes_no_time) {
        return 0;
    }
    const Graph& graph = trace_of(chunk);
    u64 ns = graph.recorded_ns(node, semantics_.quirks.whole_microseconds);
    if (const u64 bytes = reduced_bytes(chunk, node); bytes > 0) {
        const u64 ticks = ticks_of_reduction(bytes);
        if (ticks != 0) {
            return ticks;
        }
    }
    if (ns == 0 && semantics_.quirks.no_duration_takes_a_nanosecond) {
        ns = 1;
    }
    return semantics_.scale.whole(ns);
}

void CustomMachine::start(ChunkId chunk) {
    if (phases_of_chunks_.size() <= chunk.index()) {
        phases_of_chunks_.resize(chunk.index() + 1);
    }
    const CustomPosition& position = position_of(chunks_[chunk]);
    const SharedVector<u32>& waiting = position.graph->parent_count;
    of(chunk) = {{waiting.begin(), waiting.end()}, position.ready, 0};
    probe_.starts(chunk, position.graph->size());
    if (position.graph->size() == 0) {
        engine_.of_ranks.schedule(chunks_[chunk].actor, 0, {Owner::custom, nothing_to_do},
                                  chunk.index());
        return;
    }
    issue(chunk);
}

void CustomMachine::handle_of_actor(ActorId, const RankEvent& event) {
    const ChunkId chunk(event.a);
    if (event.kind.kind() == nothing_to_do) {
        probe_.nothing_done(event, engine_.now(), node_of(chunk));
        phases_.phase_ends(chunk);
    } else {
        probe_.reduced(event, engine_.now(), node_of(chunk));
        node_ends(chunk, event.b);
    }
}

void CustomMachine::completed(const Completion& completion) {
    node_ends(ChunkId(completion.a), completion.b);
}

void CustomMachine::issue(ChunkId chunk) {
    const CustomCollective& custom = parameters_.custom[chunks_[chunk].custom];
    const Graph& graph = trace_of(chunks_[chunk]);
    std::vector<u64> ready = of(chunk).ready.keys();
    if (!custom.hash_order) {
        std::sort(ready.begin(), ready.end());
    }
    for (u64 id : ready) {
        of(chunk).ready.erase(id);
        ++of(chunk).ongoing;
        issue_node(chunk, node_with(graph, id));
    }
}

void CustomMachine::issue_node(ChunkId chunk, u32 node) {
    const Chunk& c = chunks_[chunk];
    const Graph& graph = trace_of(c);
    const RankId here = actors_.rank(c.actor);
    const Completion then{{Owner::custom, node_done}, chunk.index(), node};
    const Recorder::Scope scope(engine_.recorder());
    probe_.posts(node_of(chunk));
    probe_.op_ready(chunk, node, node_of(chunk), engine_.now());
    if (graph.type[node] != send_node && graph.type[node] != receive_node) {
        local_.schedule(c.actor, ticks_of(c, node), reduction_traffic(reduced_bytes(c, node)), then.kind,
                        chunk.index(), node);
        return;
    }
    const bool sends = graph.type[node] == send_node;
    const IntColumn& named = sends ? graph.comm_dst : graph.comm_src;
    const RankId peer = rank_named(c, static_cast<u32>(named.value[node]));
    const u32 tag = static_cast<u32>(graph.comm_tag.value[node] % tag_space);
    if (sends) {
        transport_.send({here.index(), peer.index()}, here, peer, bytes_of(c, node), tag, then);
    } else {
        transport_.receive({peer.index(), here.index()}, here, peer, bytes_of(c, node), tag, then);
    }
}

void CustomMachine::node_ends(ChunkId chunk, u32 node) {
    const CustomPosition& position = position_of(chunks_[chunk]);
    --of(chunk).ongoing;
    for (u32 child : position.children[node]) {
        probe_.frees(chunk, child);
        if (--of(chunk).waiting[child] == 0) {
            of(chunk).ready.insert(position.graph->id[child]);
        }
    }
    if (position.children[node].empty()) {
        probe_.last_op_ends(chunk);
    }
    issue(chunk);
    if (of(chunk).ongoing == 0 && of(chunk).ready.size() == 0) {
        const Recorder::Scope scope(engine_.recorder());
        probe_.phase_ends(chunk, node_of(chunk), engine_.now());
        phases_.phase_ends(chunk);
    }
}

}  // namespace yantra
