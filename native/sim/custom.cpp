// Phases given as Chakra traces: custom collectives (astra-sim-semantics 8).
#include <algorithm>

#include "base/ensure.hpp"
#include "sim/simulation.hpp"
#include "transport/tags.hpp"

namespace yantra {

namespace {

constexpr i32 send_node = 5;
constexpr i32 receive_node = 6;

u32 node_of(const Graph& graph, u64 id) {
    const auto found = std::lower_bound(graph.id.begin(), graph.id.end(), id);
    return static_cast<u32>(found - graph.id.begin());
}

}  // namespace

const CustomPosition& Simulation::custom_position(const Stream& s) const {
    const CustomCollective& custom = model_.custom[s.custom];
    if (!custom.over_members) {
        return custom.positions[s.rank];
    }
    const u32 communicator = communicator_of(s);
    const u32 offset = s.rank - model_.communicators[communicator].base;
    return custom.positions[model_.form_of(communicator).shape->place(offset)];
}

void Simulation::start_custom_phase(u32 stream) {
    const u32 state = custom_states_.take();
    Stream& s = streams_[stream];
    s.custom_state = state;
    const CustomPosition& position = custom_position(s);
    custom_states_[state].waiting = position.graph->parent_count;
    custom_states_[state].ready = position.ready;
    if constexpr (recorded_run) {
        record_custom(state, *position.graph);
    }
    if (position.graph->size() == 0) {
        local_.schedule(s.rank, 0, phase_done, stream, none);
        return;
    }
    issue_custom(stream);
}

// Starts every node that is ready now; nodes freed meanwhile wait for the next call.
void Simulation::issue_custom(u32 stream) {
    const u32 state = streams_[stream].custom_state;
    const CustomCollective& custom = model_.custom[streams_[stream].custom];
    const Graph& graph = *custom_position(streams_[stream]).graph;
    std::vector<u64> ready = custom_states_[state].ready.keys();
    if (!custom.hash_order) {
        std::sort(ready.begin(), ready.end());
    }
    for (u64 id : ready) {
        custom_states_[state].ready.erase(id);
        ++custom_states_[state].ongoing;
        issue_custom_node(stream, node_of(graph, id));
    }
}

u32 Simulation::custom_rank(const Stream& s, u32 named) const {
    if (!model_.custom[s.custom].over_members) {
        return named;
    }
    const u32 communicator = communicator_of(s);
    return model_.communicators[communicator].base +
           model_.form_of(communicator).shape->offset(named);
}

u64 Simulation::custom_size(const Stream& s, u32 node) const {
    const Graph& graph = *custom_position(s).graph;
    return custom_bytes(graph, node, op_of(s.rank, datasets_[s.dataset].node).bytes);
}

// A computation takes its recorded time or, when it has none but says how much it reduces, what the
// local reduction of that takes in any collective.
u64 Simulation::custom_ticks(const Stream& s, u32 node) const {
    if (model_.system.custom_work_takes_no_time) {
        return 0;
    }
    const Graph& graph = *custom_position(s).graph;
    u64 ns = graph.recorded_ns(node, model_.quirks.whole_microseconds);
    if (ns == 0 && has_chunks(graph, node)) {
        const u64 ticks = reduction_ticks(custom_size(s, node));
        if (ticks != 0) {
            return ticks;
        }
    }
    if (ns == 0 && model_.quirks.no_duration_takes_a_nanosecond) {
        ns = 1;
    }
    return model_.scale.whole(ns);
}

void Simulation::issue_custom_node(u32 stream, u32 node) {
    const Stream& s = streams_[stream];
    const Graph& graph = *custom_position(s).graph;
    const Continuation then{Continuation::custom_node, stream, node};
    const Recorder::Scope scope(recorder());
    if constexpr (recorded_run) {
        record_custom_issue(s, node);
    }
    if (graph.type[node] == send_node) {
        const u32 to = custom_rank(s, static_cast<u32>(graph.comm_dst.value[node]));
        send(s.rank, to, custom_size(s, node),
             static_cast<u32>(graph.comm_tag.value[node] % tag_space), then);
    } else if (graph.type[node] == receive_node) {
        const u32 from = custom_rank(s, static_cast<u32>(graph.comm_src.value[node]));
        receive(s.rank, from, custom_size(s, node),
                static_cast<u32>(graph.comm_tag.value[node] % tag_space), then);
    } else {
        local_.schedule(s.rank, custom_ticks(s, node), custom_done, stream, node);
    }
}

void Simulation::custom_node_done(u32 stream, u32 node) {
    const u32 state = streams_[stream].custom_state;
    const CustomPosition& position = custom_position(streams_[stream]);
    --custom_states_[state].ongoing;
    if constexpr (recorded_run) {
        record_custom_end(state, position.children[node]);
    }
    for (u32 child : position.children[node]) {
        if (--custom_states_[state].waiting[child] == 0) {
            custom_states_[state].ready.insert(position.graph->id[child]);
        }
    }
    issue_custom(stream);
    if (custom_states_[state].ongoing == 0 && custom_states_[state].ready.size() == 0) {
        const Recorder::Scope scope(recorder());
        if constexpr (recorded_run) {
            record_custom_phase_end(streams_[stream], state);
        }
        streams_[stream].custom_state = none;
        custom_states_.give_back(state);
        proceed(stream);
    }
}

}  // namespace yantra
