// The graph machine: phases given as sends, receives and local work with dependencies. Trees and
// algorithms that users add run here (astra-sim-semantics 5.6).
#include "sim/simulation.hpp"

namespace yantra {

namespace {

const GraphProgram& graph_of(const Program& program) {
    return *std::get_if<GraphProgram>(&program.machine);
}

// The position whose operations are written out.
u32 written_position(const GraphProgram& graph, u32 position) {
    return graph.symmetry == Symmetry::none ? position : 0;
}

const GraphOp& op_at(const GraphProgram& graph, u32 position, u32 op) {
    return graph.ops[graph.first_op[written_position(graph, position)] + op];
}

}  // namespace

void Simulation::start_graph(u32 stream) {
    const u32 state = graph_states_.take();
    streams_[stream].graph_state = state;
    const Stream& s = streams_[stream];
    const GraphProgram& graph = graph_of(model_.programs[phase_of(s).program]);
    const u32 written = written_position(graph, s.place.position);
    const u32 first = graph.first_op[written];
    const u32 count = graph.first_op[written + 1] - first;
    std::vector<u32>& waiting = graph_states_[state].waiting;
    waiting.resize(count);
    for (u32 op = 0; op < count; ++op) {
        waiting[op] = graph.ops[first + op].dependencies;
    }
    if constexpr (recorded_run) {
        record_graph(state);
    }
    if (count == 0) {
        local_.schedule(s.rank, 0, phase_done, stream, none);
        return;
    }
    for (u32 op = 0; op < count; ++op) {
        if (graph.ops[first + op].dependencies == 0) {
            run_graph_op(stream, op);
        }
    }
}

void Simulation::run_graph_op(u32 stream, u32 op_index) {
    const Stream& s = streams_[stream];
    const Phase& phase = phase_of(s);
    const Program& program = model_.programs[phase.program];
    const GraphProgram& graph = graph_of(program);
    const GraphOp& op = op_at(graph, s.place.position, op_index);
    switch (op.kind) {
        case GraphOp::send:
            if constexpr (recorded_run) {
                record_sender(s);
            }
            send(real(s.rank), s.place.rank_at(peer_position(graph, s.place, op.peer)), op.bytes.of(phase.data, program.round_up), s.tag, {});
            graph_op_done(stream, op_index);
            return;
        case GraphOp::receive:
            if constexpr (recorded_run) {
                record_sender(s);
            }
            receive(real(s.rank), s.place.rank_at(peer_position(graph, s.place, op.peer)), op.bytes.of(phase.data, program.round_up), s.tag,
                    {Continuation::graph_receipt, stream, op_index});
            return;
        case GraphOp::local:
            hand_over(s, stream, op_index, {op.from_memory, op.reduce.num != 0, goes_back(s, op), true},
                      op.bytes.of(phase.data, program.round_up));
            return;
    }
}

// Whether a hand-over that starts crosses the shared bus twice.
bool Simulation::goes_back(const Stream& s, const GraphOp& op) const {
    if (!op.back_if_last) {
        return op.back;
    }
    const GraphProgram& graph = graph_of(model_.programs[phase_of(s).program]);
    const std::vector<u32>& waiting = graph_states_[s.graph_state].waiting;
    for (u32 other = 0; other < waiting.size(); ++other) {
        if (waiting[other] > 0 && op_at(graph, s.place.position, other).back_if_last) {
            return false;
        }
    }
    return true;
}

void Simulation::graph_handed_over(u32 stream, u32 op_index) {
    const Stream& s = streams_[stream];
    const Phase& phase = phase_of(s);
    const Program& program = model_.programs[phase.program];
    const GraphProgram& graph = graph_of(program);
    const GraphOp& op = op_at(graph, s.place.position, op_index);
    if (op.reduce.num == 0) {
        graph_op_done(stream, op_index);
        return;
    }
    local_.schedule(s.rank, reduction_ticks(op.reduce.of(phase.data, program.round_up)),
                    graph_local_done, stream, op_index);
}

void Simulation::graph_op_done(u32 stream, u32 op_index) {
    const Stream& s = streams_[stream];
    const u32 state = s.graph_state;
    const GraphProgram& graph = graph_of(model_.programs[phase_of(s).program]);
    const GraphOp& op = op_at(graph, s.place.position, op_index);
    ++graph_states_[state].done;
    if constexpr (recorded_run) {
        if (op.first_successor == op.last_successor) {
            record_last_op(state);
        }
    }
    for (u32 i = op.first_successor; i < op.last_successor; ++i) {
        const u32 next = graph.successors[i];
        const Recorder::Scope scope(recorder());
        if constexpr (recorded_run) {
            record_waiting_op(state, next);
        }
        if (--graph_states_[state].waiting[next] == 0) {
            if constexpr (recorded_run) {
                record_ready_op(streams_[stream], state, next);
            }
            run_graph_op(stream, next);
        }
    }
    if (streams_[stream].graph_state == state &&
        graph_states_[state].done == graph_states_[state].waiting.size()) {
        const Recorder::Scope scope(recorder());
        if constexpr (recorded_run) {
            record_graph_end(streams_[stream], state);
        }
        streams_[stream].graph_state = none;
        graph_states_.give_back(state);
        proceed(stream);
    }
}

}  // namespace yantra
