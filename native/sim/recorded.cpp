// What a recorded run notes: of every event its cause, and at every join what else had to come first.
//
// The notes lie in arrays parallel to the pools of the run, so that the types of a plain run stay as
// they are. See native/recording/recording.hpp for what becomes of them.
#include <map>

#include "base/ensure.hpp"
#include "sim/simulation.hpp"

#ifdef YANTRA_RECORDED

namespace yantra {

namespace {

template <class Item>
Item& at(std::vector<Item>& items, std::size_t index) {
    if (items.size() <= index) {
        items.resize(index + 1);
    }
    return items[index];
}

}  // namespace

struct Simulation::Records {
    // Of what lets in so many at a time: a slot, a queue.
    struct Gate {
        MomentList freed;      // ends of those that left and whose place nobody took
        u64 taken = 0;         // places, of those that were free from the start
        u32 last = none;       // moment at which the last one got in
    };
    struct OfStream {
        u32 entered = none;          // its queue
        MomentList packets;          // that wait for others, and what these wait for
        MomentList near[2];          // messages or receives that wait for the other
    };
    struct OfEarly {
        u32 moment = none;
        u32 message = none;
    };
    struct OfMessage {
        u32 log = none;
        u32 posted = none;
        u32 arrived = none;
        u32 receiver = none;
    };
    struct OfGraph {
        std::vector<MomentList> waiting;   // by operation
        MomentList done;
    };
    struct OfServer {
        u32 freed = none;
        u32 serves = none;
    };

    std::vector<MomentList> parents;       // by node: ends of those it waits for
    std::vector<Gate> slots;               // by rank and slot
    std::vector<Gate> queues;              // by rank and queue
    std::vector<OfStream> streams;
    std::vector<MomentList> counters;
    std::vector<OfEarly> early;
    std::vector<OfMessage> messages;
    std::vector<MomentList> datasets;
    std::vector<OfGraph> graphs;
    std::vector<OfGraph> customs;
    std::vector<u32> rendezvous;           // nodes
    std::vector<OfServer> servers;
    std::vector<u32> bus_ports;            // by rank and port: node of what it sent last
    std::map<std::pair<u32, u64>, u32> instances;   // by communicator and number of the first stream
};

u32 Simulation::place_of(const Stream& s) const {
    const Dataset& d = datasets_[s.dataset];
    return place_of(d.rank, d.node);
}

// --- events

void Simulation::record_start() {
    records_ = std::make_shared<Records>();
    Records& r = *records_;
    ensure(start_.size() < Moment::no_subject, "more nodes than a recording numbers");
    r.parents.resize(start_.size());
    r.slots.resize(ranks_.size() * model_.resources.capacity.size());
    r.queues.resize(ranks_.size() * ranks_.front().queues.size());
    r.bus_ports.assign(buses_.size() * 4, none);
    Recording& recording = recorder().recording();
    recording.issued.assign(start_.size(), none);
    recording.ended.assign(start_.size(), none);
    recording.instance.assign(start_.size(), none);
    recording.finished.assign(ranks_.size(), none);
    for (u32 rank = 0; rank < ranks_.size(); ++rank) {
        recording.first_node.push_back(static_cast<u32>(ranks_[rank].first_node));
        recording.rank.push_back(real(rank));
        recording.alike.push_back(folded_ ? folding_->count[rank] : 1);
    }
    recording.first_node.push_back(static_cast<u32>(start_.size()));
    recorder().begin(0, none, Why::nothing, none, false);
}

void Simulation::record_event(const Event& event) {
    const Trail& trail = event.trail;
    Recorder& to = recorder();
    auto begin = [&](Why why, u32 subject, bool pure) {
        to.begin(event.time, trail.cause, why, subject, pure);
    };
    switch (event.kind & ((1u << event::kind_bits) - 1)) {
        case event::local_batch:
            return;
        case event::arrival:
            begin(Why::carried, trail.detail, !model_.quirks.send_completes_on_arrival);
            to.arrived(trail.detail);
            return;
        case event::exchange_arrival:
            begin(Why::carried, trail.detail, true);
            to.arrived(trail.detail);
            to.received_by(to.recording().message_of(trail.detail), place_of(streams_[event.index]));
            return;
        case event::exchange_early:
            begin(Why::carried, trail.detail, true);
            to.arrived(trail.detail);
            at(records_->early, event.index).message = to.recording().message_of(trail.detail);
            return;
        case event::exchange_ready:
            begin(Why::nothing, place_of(streams_[event.index]), true);
            to.edge(trail.detail);
            return;
        case event::departed:
            begin(Why::departed, trail.detail, true);
            return;
        case event::receive_ready:
            begin(Why::nothing, records_->messages[event.index].receiver, true);
            to.edge(trail.detail);
            return;
        case event::network_first:
            begin(Why::carried, trail.detail, false);
            return;
        default:
            begin(Why::link, trail.detail, false);
    }
}

void Simulation::record_local(u32 rank, const LocalEvent& event) {
    auto begin = [&](Why why, u32 subject, bool pure) {
        recorder().begin(queue_.now(), event.trail.cause, why, subject, pure);
    };
    switch (static_cast<Local>(event.kind)) {
        case hand_over_done:
            begin(Why::hand_over, place_of(streams_[event.a]), true);
            return;
        case graph_hand_over:
            begin(Why::hand_over, place_of(streams_[event.a]), false);
            return;
        case reduction_done:
            begin(Why::reduction, place_of(streams_[event.a]), true);
            return;
        case graph_local_done:
        case custom_done:
            begin(Why::reduction, place_of(streams_[event.a]), false);
            return;
        case phase_done:
            begin(Why::nothing, place_of(streams_[event.a]), false);
            return;
        case node_done: {
            const Op& op = op_of(rank, event.a);
            const Why why = op.node_class == NodeClass::gpu      ? Why::compute
                            : op.node_class == NodeClass::cpu    ? Why::host
                            : op.node_class == NodeClass::memory ? Why::memory
                                                                 : Why::other;
            begin(why, place_of(rank, event.a), false);
            return;
        }
        case server_free:
            begin(Why::server, records_->servers[event.a].serves, false);
            records_->servers[event.a].freed = recorder().now();
            return;
        case bus_sent:
        case bus_received:
        case bus_processed:
            record_bus_event(rank, event);
            return;
    }
}

// --- workload

void Simulation::record_parent(u32 rank, u32 child) {
    recorder().push(records_->parents[place_of(rank, child)], recorder().now());
}

void Simulation::record_issue(u32 rank, u32 node) {
    const u32 place = place_of(rank, node);
    const Op& op = op_of(rank, node);
    Recorder::Join join(recorder(), queue_.now(), place);
    join.with_all(records_->parents[place]);
    if (op.kind != OpKind::skip && op.resource != unlimited) {
        const std::size_t slots = model_.resources.capacity.size();
        Records::Gate& slot = records_->slots[rank * slots + op.resource];
        if (slot.taken < model_.resources.capacity[op.resource]) {
            ++slot.taken;
        } else {
            join.with(recorder().pop(slot.freed));
        }
    }
    if (op.kind == OpKind::skip) {
        join.apart();   // its end is one of the things that happen now
    }
    recorder().recording().issued[place] = recorder().now();
    recorder().owner = place;
}

void Simulation::record_end(u32 rank, u32 node) {
    const Op& op = op_of(rank, node);
    recorder().recording().ended[place_of(rank, node)] = recorder().now();
    if (op.kind != OpKind::skip && op.resource != unlimited) {
        const std::size_t slots = model_.resources.capacity.size();
        recorder().push(records_->slots[rank * slots + op.resource].freed, recorder().now());
    }
}

void Simulation::record_finish(u32 rank) { recorder().recording().finished[rank] = recorder().now(); }

void Simulation::record_service(u32 server, const MemoryRequest& request) {
    const u32 place = place_of(request.rank, request.node);
    Records::OfServer& of = at(records_->servers, server);
    Recorder::Join join(recorder(), queue_.now(), place);
    join.with(recorder().recording().issued[place]);
    join.with(of.freed);
    of.serves = place;
}

// --- streams

void Simulation::record_collective(u32 rank, u32 node) {
    const u32 communicator = communicator_of(rank, op_of(rank, node));
    const std::pair<u32, u64> key{circle(rank, communicator), streams_made(rank, communicator)};
    const auto number = static_cast<u32>(records_->instances.size());
    recorder().recording().instance[place_of(rank, node)] =
        records_->instances.try_emplace(key, number).first->second;
}

void Simulation::record_stream_end(u32 dataset) {
    MomentList& ended = at(records_->datasets, dataset);
    if (datasets_[dataset].streams_left > 1) {
        recorder().push(ended, recorder().now());
        return;
    }
    const Dataset& d = datasets_[dataset];
    Recorder::Join join(recorder(), queue_.now(), place_of(d.rank, d.node));
    join.apart();
    join.with_all(ended);
}

void Simulation::record_entry(u32 stream) { at(records_->streams, stream).entered = recorder().now(); }

void Simulation::record_leaving(u32 rank, u32 queue) {
    Records::Gate& gate = records_->queues[rank * ranks_[rank].queues.size() + queue];
    recorder().push(gate.freed, recorder().now());
}

void Simulation::record_phase(u32 rank, u32 queue, u32 stream) {
    Records::Gate& gate = records_->queues[rank * ranks_[rank].queues.size() + queue];
    Recorder::Join join(recorder(), queue_.now(), place_of(streams_[stream]));
    join.with(records_->streams[stream].entered);
    join.with(gate.last);
    if (gate.taken < queue_threshold_) {
        ++gate.taken;
    } else {
        join.with(recorder().pop(gate.freed));
    }
    gate.last = recorder().now();
}

// --- exchange

void Simulation::record_waiting_packet(u32 stream) {
    recorder().push(records_->streams[stream].packets, recorder().now());
}

void Simulation::record_passing(u32 stream) {
    MomentList& packets = records_->streams[stream].packets;
    Recorder::Join(recorder(), queue_.now(), place_of(streams_[stream]), true).with_all(packets);
    recorder().push(packets, recorder().now());
}

void Simulation::record_last_packet(u32 stream) {
    Recorder::Join(recorder(), queue_.now(), place_of(streams_[stream]), true)
        .with_all(records_->streams[stream].packets);
}

void Simulation::record_receipt(u32 stream) {
    const ExchangeState& x = streams_[stream].exchange;
    const ExchangeProgram& machine = *x.machine;
    if (machine.barrier_at > 0 && !machine.barrier_counts_hand_overs &&
        x.receipts <= machine.barrier_receipts) {
        record_waiting_packet(stream);
    }
}

void Simulation::record_sender(const Stream& s) { recorder().owner = place_of(s); }

// --- meetings

MomentList& Simulation::arrivals_of(const Stream& s, u32 slot) {
    if (s.exchange.counters != none) {
        return at(records_->counters, s.exchange.counters + slot);
    }
    return records_->streams[static_cast<std::size_t>(&s - &streams_[0])].near[slot];
}

void Simulation::record_tell(const Stream& s) {
    recorder().message(s.exchange.send_bytes, s.exchange.to_rank, s.tag);
}

void Simulation::record_post(const Stream& s, u32 slot, bool has_arrived) {
    if (has_arrived) {
        recorder().trail.detail = recorder().pop(arrivals_of(s, slot));
    } else {
        recorder().push(arrivals_of(s, slot), recorder().now());
    }
}

void Simulation::record_arrival(const Stream& s, u32 slot, bool is_awaited) {
    if (is_awaited) {
        Recorder::Join(recorder(), queue_.now(), place_of(s), true)
            .with(recorder().pop(arrivals_of(s, slot)));
    } else {
        recorder().push(arrivals_of(s, slot), recorder().now());
    }
}

void Simulation::record_early(u32 early) { at(records_->early, early).moment = recorder().now(); }

// A message that was sent before its stream existed has found it.
void Simulation::record_receiver(const Stream& s, u32 early) {
    recorder().received_by(records_->early[early].message, place_of(s));
}

// Early arrivals come newest first.
void Simulation::record_counted(const Stream& s, u32 early) {
    const Records::OfEarly& of = records_->early[early];
    recorder().push_first(arrivals_of(s, early_[early].mark & ((1u << 20) - 1)), of.moment);
}

// --- graphs

void Simulation::record_graph(u32 state) {
    Records::OfGraph& of = at(records_->graphs, state);
    of.waiting.assign(graph_states_[state].waiting.size(), {});
}

void Simulation::record_waiting_op(u32 state, u32 op) {
    recorder().push(records_->graphs[state].waiting[op], recorder().now());
}

void Simulation::record_ready_op(const Stream& s, u32 state, u32 op) {
    Recorder::Join(recorder(), queue_.now(), place_of(s)).with_all(records_->graphs[state].waiting[op]);
}

void Simulation::record_last_op(u32 state) {
    recorder().push(records_->graphs[state].done, recorder().now());
}

void Simulation::record_graph_end(const Stream& s, u32 state) {
    Recorder::Join(recorder(), queue_.now(), place_of(s)).with_all(records_->graphs[state].done);
}

void Simulation::record_custom(u32 state, const Graph& graph) {
    at(records_->customs, state).waiting.assign(graph.size(), {});
}

void Simulation::record_custom_issue(const Stream& s, u32 node) {
    recorder().owner = place_of(s);
    Recorder::Join(recorder(), queue_.now(), place_of(s))
        .with_all(records_->customs[s.custom_state].waiting[node]);
}

void Simulation::record_custom_end(u32 state, const std::vector<u32>& children) {
    Records::OfGraph& of = records_->customs[state];
    for (u32 child : children) {
        recorder().push(of.waiting[child], recorder().now());
    }
    if (children.empty()) {
        recorder().push(of.done, recorder().now());
    }
}

void Simulation::record_custom_phase_end(const Stream& s, u32 state) {
    Recorder::Join(recorder(), queue_.now(), place_of(s)).with_all(records_->customs[state].done);
}

// --- messages matched by tag

void Simulation::record_send(u32 message, bool fresh, u32 dst) {
    Records::OfMessage& of = at(records_->messages, message);
    if (fresh) {
        of = {};
    }
    const Message& m = messages_[message];
    of.log = recorder().message(m.bytes, dst, m.tag);
    if (!fresh) {
        recorder().received_by(of.log, of.receiver);
    }
}

void Simulation::record_receive(u32 message, bool fresh) {
    Records::OfMessage& of = at(records_->messages, message);
    if (fresh) {
        of = {};
    } else {
        recorder().received_by(of.log, recorder().owner);
    }
    of.posted = recorder().now();
    of.receiver = recorder().owner;
    recorder().trail.detail = of.arrived;
}

void Simulation::record_delivery(u32 message) { records_->messages[message].arrived = recorder().now(); }

// The sender's end is one of two things that happen in the event.
void Simulation::record_sent_end(u32 message) {
    const u32 sender = recorder().recording().messages[records_->messages[message].log].node;
    Recorder::Join(recorder(), queue_.now(), sender).apart();
}

void Simulation::record_received(u32 message) {
    const Records::OfMessage& of = records_->messages[message];
    Recorder::Join(recorder(), queue_.now(), of.receiver, true).with(of.posted);
}

void Simulation::record_rendezvous(u32 rendezvous) {
    at(records_->rendezvous, rendezvous) = recorder().owner;
}

void Simulation::resume_rendezvous(u32 rendezvous) {
    recorder().owner = records_->rendezvous[rendezvous];
}

// --- the shared bus

void Simulation::record_bus_start(u32 rank, u32 port, const BusRequest& request) {
    records_->bus_ports[rank * 4 + port] = place_of(streams_[request.stream]);
}

void Simulation::record_bus_event(u32 rank, const LocalEvent& event) {
    const BusPort& port = buses_[rank].ports[event.a];
    Why why = Why::hand_over;
    u32 subject = records_->bus_ports[rank * 4 + event.a];
    if (event.kind == bus_received) {
        subject = place_of(streams_[port.receives.front().stream]);
    } else if (event.kind == bus_processed) {
        why = Why::reduction;
        subject = place_of(streams_[port.to_process.front().stream]);
    }
    recorder().begin(queue_.now(), event.trail.cause, why, subject, false);
}

}  // namespace yantra

#endif
