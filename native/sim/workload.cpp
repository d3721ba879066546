// Nodes of the execution graphs: readiness, slots, issue, completion (astra-sim-semantics 6).
#include "base/ensure.hpp"
#include "sim/simulation.hpp"

namespace yantra {

bool Simulation::slot_open(const Rank& r, u32 slot) const {
    return slot == r.occupied.size() || r.occupied[slot] < model_.resources.capacity[slot];
}

// Issues, in ascending id, every ready node whose slot is free. A skipped node that does not wake
// its rank leaves its children for the next pass; where nothing is in flight no next pass would
// come, so it follows at once (upstream stalls there for good).
void Simulation::issue_ready(u32 rank) {
    Rank& r = ranks_[rank];
    r.issuing = true;
    for (;;) {
        const u32 node = r.ready.take_first([&](u32 slot) { return slot_open(r, slot); });
        if (node != none) {
            issue(rank, node);
            continue;
        }
        if (r.freed.empty() || r.in_flight > 0) {
            break;
        }
        for (u32 freed : r.freed) {
            make_ready(r, rank, freed);
        }
        r.freed.clear();
    }
    for (u32 freed : r.freed) {
        make_ready(r, rank, freed);
    }
    r.freed.clear();
    r.issuing = false;
}

void Simulation::make_ready(Rank& r, u32 rank, u32 node) {
    const u8 slot = op_of(rank, node).resource;
    r.ready.insert(slot == unlimited ? static_cast<u32>(r.occupied.size()) : slot, node);
}

void Simulation::issue(u32 rank, u32 node) {
    Rank& r = ranks_[rank];
    const Op& op = op_of(rank, node);
    const Recorder::Scope scope(recorder());
    if constexpr (recorded_run) {
        record_issue(rank, node);
    }
    start_[r.first_node + node] = queue_.now();
    if (op.kind == OpKind::skip) {
        skip(rank, node);
        return;
    }
    if (op.resource != unlimited) {
        ++r.occupied[op.resource];
    }
    ++r.in_flight;
    switch (op.kind) {
        case OpKind::timed:
            r.compute_busy += op.busy_ticks;
            local_.schedule(rank, op.ticks, node_done, node, none);
            return;
        case OpKind::collective:
            start_collective(rank, node);
            return;
        case OpKind::send:
        case OpKind::receive:
            if (folded_) [[unlikely]] {
                message_on_channel(rank, node);
            } else if (op.kind == OpKind::send) {
                send(rank, peer_of(rank, op), op.bytes, op.tag, {Continuation::node, rank, node});
            } else {
                receive(rank, peer_of(rank, op), op.bytes, op.tag, {Continuation::node, rank, node});
            }
            return;
        case OpKind::memory:
            access_memory(rank, node);
            return;
        case OpKind::skip:
            break;
    }
    ensure(false, "an operation of no known kind");
}

// Finishes a node that takes no time: no slot is held and, with the quirk, no issue pass follows.
void Simulation::skip(u32 rank, u32 node) {
    end_[ranks_[rank].first_node + node] = queue_.now();
    if constexpr (recorded_run) {
        record_end(rank, node);
    }
    ++nodes_done_;
    ++ranks_[rank].done;
    release_children(rank, node);
}

void Simulation::release_children(u32 rank, u32 node) {
    Rank& r = ranks_[rank];
    const Graph& graph = *r.job->graph;
    const bool deferred = r.issuing && !r.job->ops[node].wakes;
    for (u32 i = graph.child_begin[node]; i < graph.child_begin[node + 1]; ++i) {
        const u32 child = graph.child[i];
        if constexpr (recorded_run) {
            record_parent(rank, child);
        }
        if (--r.waiting[child] > 0) {
            continue;
        }
        if (deferred) {
            r.freed.push_back(child);
        } else {
            make_ready(r, rank, child);
        }
    }
}

void Simulation::complete_node(u32 rank, u32 node) {
    Rank& r = ranks_[rank];
    const Op& op = op_of(rank, node);
    if (folded_) [[unlikely]] {
        settle_ties(rank);
    }
    if (op.resource != unlimited) {
        --r.occupied[op.resource];
    }
    --r.in_flight;
    ++nodes_done_;
    end_[r.first_node + node] = queue_.now();
    if constexpr (recorded_run) {
        record_end(rank, node);
    }
    if (folded_) [[unlikely]] {
        ++r.done;
        ties_.node_ends(rank, queue_.now(), node, slots_around(r, node));
    }
    release_children(rank, node);
    issue_ready(rank);
    finish_if_done(rank);
}

// A rank is done when nothing runs and nothing is ready. Nodes on a cycle never become ready; with
// the astra-sim semantics they are dropped, as upstream drops them (the reader warns of them).
void Simulation::finish_if_done(u32 rank) {
    Rank& r = ranks_[rank];
    if (r.finished || r.in_flight > 0 || !r.ready.empty()) {
        return;
    }
    r.finished = true;
    finish_[rank] = queue_.now();
    if constexpr (recorded_run) {
        record_finish(rank);
    }
    finish_order_.push_back(rank);
}

void Simulation::access_memory(u32 rank, u32 node) {
    const u64 ticks = memory_.ticks(op_of(rank, node).bytes);
    if (!memory_.exclusive()) {
        local_.schedule(rank, ticks, node_done, node, none);
        return;
    }
    const u32 server = memory_.server_of(rank);
    const MemoryRequest request{rank, node, ticks};
    if (memory_.admit(server, request)) {
        serve_memory(server, request);
    }
}

// The node completes first, then the server takes the next request, in the same tick.
void Simulation::serve_memory(u32 server, const MemoryRequest& request) {
    const Recorder::Scope scope(recorder());
    if constexpr (recorded_run) {
        record_service(server, request);
    }
    local_.schedule(request.rank, request.ticks, node_done, request.node, none);
    local_.schedule(request.rank, request.ticks, server_free, server, none);
}

void Simulation::free_server(u32 server) {
    MemoryRequest request;
    if (memory_.next(server, request)) {
        serve_memory(server, request);
    }
}

}  // namespace yantra
