#include "collective/runtime/graph_machine.hpp"

#include "base/ensure.hpp"
#include "collective/reduction.hpp"

namespace yantra {

namespace {

const GraphProgram& graph_of(const Program& program) {
    return *std::get_if<GraphProgram>(&program.machine);
}

u32 written_position(const GraphProgram& graph, u32 position) {
    return graph.symmetry == Symmetry::none ? position : 0;
}

}  // namespace

const GraphOp& GraphMachine::op_of(const Phase& phase, u32 op) const {
    const GraphProgram& graph = graph_of(*phase.program);
    return graph.ops[graph.first_op[phase.position] + op];
}

void GraphMachine::start(ChunkId chunk, const PhaseInput& input) {
    if (phases_of_chunks_.size() <= chunk.index()) {
        phases_of_chunks_.resize(chunk.index() + 1);
    }
    const GraphProgram& graph = graph_of(input.program);
    set_up(of(chunk), input, written_position(graph, input.place.position), actors_.rank(input.actor));
    probe_.starts(chunk, of(chunk).waiting.size());
    if (!graph.switches.empty()) [[unlikely]] {
        start_switches(graph, input);
    }
    if (of(chunk).waiting.empty()) {
        engine_.of_ranks.schedule(input.actor, 0, {Owner::graph, nothing_to_do}, chunk.index());
        return;
    }
    run_roots(chunk);
}

void GraphMachine::set_up(Phase& phase, const PhaseInput& input, u32 position, RankId as) {
    const GraphProgram& graph = graph_of(input.program);
    const u32 first = graph.first_op[position];
    phase.program = &input.program;
    phase.actor = input.actor;
    phase.rank = as;
    phase.position = position;
    phase.data = input.data;
    phase.serial = ++serials_;
    phase.tag = input.tag;
    phase.node = input.node;
    phase.fixed_hand_over = input.fixed_hand_over;
    phase.place = input.place;
    phase.done = 0;
    phase.waiting.resize(graph.first_op[position + 1] - first);
    for (u32 op = 0; op < phase.waiting.size(); ++op) {
        phase.waiting[op] = graph.ops[first + op].dependencies;
    }
}

void GraphMachine::start_switches(const GraphProgram& graph, const PhaseInput& input) {
    for (u32 at = 0; at < graph.switches.size(); ++at) {
        if (graph.hosts[at] != input.place.position) {
            continue;
        }
        if (free_phases_.empty()) {
            free_phases_.push_back(static_cast<u32>(phases_of_switches_.size()));
            phases_of_switches_.emplace_back();
        }
        const ChunkId phase(first_of_switches + free_phases_.back());
        free_phases_.pop_back();
        set_up(of(phase), input, input.place.size + at, RankId(graph.switches[at]));
        run_roots(phase);
    }
}

void GraphMachine::run_roots(ChunkId chunk) {
    const GraphProgram& graph = graph_of(*of(chunk).program);
    const u32 first = graph.first_op[of(chunk).position];
    const u32 count = static_cast<u32>(of(chunk).waiting.size());
    for (u32 op = 0; op < count; ++op) {
        if (graph.ops[first + op].dependencies == 0) {
            run(chunk, op);
        }
    }
}

RankId GraphMachine::peer_of(const Phase& phase, u32 position) const {
    const GraphProgram& graph = graph_of(*phase.program);
    const u32 peer = peer_position(graph, phase.place, position);
    return RankId(peer < phase.place.size || graph.switches.empty() ? phase.place.rank_at(peer)
                                                                   : graph.switches[peer - phase.place.size]);
}

void GraphMachine::handle_of_actor(ActorId, const RankEvent& event) {
    const ChunkId chunk(event.a);
    switch (static_cast<Kind>(event.kind.kind())) {
        case handed_over:
            probe_.handed_over(event, engine_.now(), of(chunk).node);
            hand_over_ends(chunk, event.b);
            return;
        case done:
            probe_.reduced(event, engine_.now(), of(chunk).node);
            op_ends(chunk, event.b);
            return;
        case nothing_to_do:
            probe_.nothing_done(event, engine_.now(), of(chunk).node);
            phases_.phase_ends(chunk);
            return;
    }
    fail("an event that the graph machine does not know");
}

void GraphMachine::completed(const Completion& completion) {
    const ChunkId chunk(completion.a);
    if (completion.kind.kind() == handed_over) {
        hand_over_ends(chunk, completion.b);
    } else {
        op_ends(chunk, completion.b);
    }
}

void GraphMachine::run(ChunkId chunk, u32 op_index) {
    const Phase& phase = of(chunk);
    const GraphOp& op = op_of(phase, op_index);
    if (op.kind == GraphOp::local) {
        if (is_of_switch(chunk)) [[unlikely]] {
            op_ends(chunk, op_index);
        } else {
            run_local(chunk, op_index);
        }
        return;
    }
    const RankId peer = peer_of(phase, op.peer);
    const u64 bytes = op.bytes.of(phase.data, phase.program->round_up);
    probe_.posts(phase.node);
    if (op.kind == GraphOp::send) {
        const u64 order = u64{phase.node} << 32U | (static_cast<u32>(phase.serial) + 1);
        const RankId from = phase.rank;
        const Completion gone{{Owner::graph, done}, chunk.index(), op_index};
        transport_.send({from.index(), peer.index()}, from, peer, bytes, phase.tag,
                        sends_end_when_gone_ ? gone : Completion{}, order);
        if (!sends_end_when_gone_) {
            op_ends(chunk, op_index);
        }
    } else {
        transport_.receive({peer.index(), phase.rank.index()}, phase.rank, peer, bytes, phase.tag,
                           {{Owner::graph, done}, chunk.index(), op_index});
    }
}

// The bus charges the reduction. Upstream charges it again on delivery.
void GraphMachine::run_local(ChunkId chunk, u32 op_index) {
    const Phase& phase = of(chunk);
    const GraphOp& op = op_of(phase, op_index);
    const SystemParameters& system = parameters_.system;
    if (phase.fixed_hand_over || !system.bus.enabled) {
        const u64 step = op.from_memory ? graph_of(*phase.program).step : 0;
        const u64 ticks = (phase.fixed_hand_over ? system.group_hand_over : system.endpoint_delay) + step;
        engine_.of_ranks.schedule(phase.actor, ticks, {Owner::graph, handed_over}, chunk.index(),
                                  op_index);
        return;
    }
    const Kind then = semantics_.quirks.bus_charges_reduction_twice ? handed_over : done;
    bus_.cross({.actor = phase.actor,
                .from_memory = op.from_memory,
                .reduces = op.reduce.num != 0,
                .back = goes_back(phase, op),
                .bytes = op.bytes.of(phase.data, phase.program->round_up),
                .node = phase.node,
                .then = {{Owner::graph, then}, chunk.index(), op_index}});
}

bool GraphMachine::goes_back(const Phase& phase, const GraphOp& op) const {
    if (!op.back_if_last) {
        return op.back;
    }
    for (u32 other = 0; other < phase.waiting.size(); ++other) {
        if (phase.waiting[other] > 0 && op_of(phase, other).back_if_last) {
            return false;
        }
    }
    return true;
}

void GraphMachine::hand_over_ends(ChunkId chunk, u32 op_index) {
    const Phase& phase = of(chunk);
    const GraphOp& op = op_of(phase, op_index);
    if (op.reduce.num == 0) {
        op_ends(chunk, op_index);
        return;
    }
    const u64 bytes = op.reduce.of(phase.data, phase.program->round_up);
    local_.schedule(phase.actor, ticks_of_reduction(bytes), reduction_traffic(bytes),
                    {Owner::graph, done}, chunk.index(), op_index);
}

// A successor may end the phase, and the chunk start another.
void GraphMachine::op_ends(ChunkId chunk, u32 op_index) {
    const u64 serial = of(chunk).serial;
    const GraphProgram& graph = graph_of(*of(chunk).program);
    const GraphOp& op = op_of(of(chunk), op_index);
    ++of(chunk).done;
    if (op.first_successor == op.last_successor) {
        probe_.last_op_ends(chunk);
    }
    for (u32 i = op.first_successor; i < op.last_successor; ++i) {
        const u32 next = graph.successors[i];
        const Recorder::Scope scope(engine_.recorder());
        probe_.frees(chunk, next);
        if (--of(chunk).waiting[next] == 0) {
            probe_.op_ready(chunk, next, of(chunk).node, engine_.now());
            run(chunk, next);
        }
    }
    if (of(chunk).serial == serial && of(chunk).done == of(chunk).waiting.size()) {
        const Recorder::Scope scope(engine_.recorder());
        probe_.phase_ends(chunk, of(chunk).node, engine_.now());
        of(chunk).serial = 0;
        if (is_of_switch(chunk)) [[unlikely]] {
            free_phases_.push_back(chunk.index() - first_of_switches);
            return;
        }
        phases_.phase_ends(chunk);
    }
}

}  // namespace yantra
