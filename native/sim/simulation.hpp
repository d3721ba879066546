// Simulation: one run of a Model. The engine that ties workload, collectives, memory and network.
//
// One class, because its parts call each other for every message and in both directions (a message
// completes a node, whose completion sends messages), but one file per subject:
//   workload.cpp   nodes of the execution graphs and the slots they occupy
//   streams.cpp    collectives cut into chunks, queued and run phase by phase
//   exchange.cpp   ring, direct and halving-doubling phases
//   graph.cpp      phases given as graphs of sends, receives and local work
//   custom.cpp     phases given as Chakra traces
//   meeting.cpp    how messages of a chunk find its streams on other ranks
//   transport.cpp  matching of sends and receives, rendezvous
//   shared_bus.cpp LogGP bus between a rank and its memory agent
//   folded.cpp     runs of one rank per class of equal ones
//   recorded.cpp   what a recorded run notes of all that
//   shortcuts.cpp  what such a run need not play
//   skipping.cpp   what it does again and again
//   diagnosis.cpp  what a run that cannot finish waits for
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "base/pool.hpp"
#include "base/variant.hpp"
#include "collective/themis.hpp"
#include "engine/event_queue.hpp"
#include "engine/local_events.hpp"
#include "memory/remote.hpp"
#include "network/folded_links.hpp"
#include "transport/matcher.hpp"
#include "network/network.hpp"
#include "fold/closed_form.hpp"
#include "fold/folding.hpp"
#include "run/model.hpp"
#include "run/outcome.hpp"
#include "sim/send_order.hpp"
#include "sim/shared_bus.hpp"
#include "sim/ties.hpp"
#include "run/unsupported.hpp"
#include "workload/ready_set.hpp"

namespace yantra::inline YANTRA_RUN {

class Simulation {
public:
    // `match_by_tag`: pair the messages of collectives by tag and size alone, as upstream does.
    // `folding`: run its representatives only. The ranks of the parts below are then numbers of
    // classes, which `real` turns into ranks where the cluster is asked. `shortcuts`: do not play
    // what such a run can know otherwise.
    explicit Simulation(const Model& model, bool match_by_tag = false,
                        std::shared_ptr<const Folding> folding = nullptr, bool shortcuts = true);
    ~Simulation();
    Simulation(const Simulation&) = delete;
    Simulation& operator=(const Simulation&) = delete;

    // Starts the run; then run_for until it returns true.
    void start();
    // Runs at most `events` events; true when none is left, or when two ranks entered different
    // collectives and the quirk asks for a run that matches by tag, or when the order of two events of
    // a folded run is not that of all ranks it stands for.
    bool run_for(u64 events);
    Outcome outcome();
    const std::optional<Mismatch>& mismatch() const { return mismatch_; }
    // Why a folded run tells nothing of the whole; empty if it does.
    const Ties& ties() const { return ties_; }
    u64 now() const { return queue_.now(); }
    Recorder& recorder() { return queue_.recorder(); }
    u64 nodes_done() const { return nodes_done_; }
    // Nodes whose times were written down without events.
    u64 nodes_skipped() const;

private:
    // What happens at a rank at some tick.
    enum Local : u32 {
        hand_over_done,     // a: stream, b: run
        reduction_done,     // a: stream
        graph_hand_over,    // a: stream, b: operation
        graph_local_done,   // a: stream, b: operation
        custom_done,        // a: stream, b: node
        phase_done,         // a: stream
        node_done,          // a: node
        server_free,        // a: memory server
        bus_sent,           // a: port
        bus_received,       // a: port
        bus_processed,      // a: port
    };

    // Whom the completion of a send or a receive concerns.
    struct Continuation {
        enum Kind : u32 {
            nobody,
            node,                 // a: rank, b: node
            exchange_receipt,     // a: stream
            graph_receipt,        // a: stream, b: operation
            custom_node,          // a: stream, b: node
            rendezvous_send,      // a: rendezvous
            rendezvous_receive,
        };
        Kind kind = nobody;
        u32 a = none;
        u32 b = none;
    };

    struct Message {
        u64 bytes = 0;
        u32 src = none;
        u32 dst = none;
        u32 tag = 0;
        u32 next = none;
        Continuation sent;
        Continuation received;
        bool receive_posted = false;
        bool delivered = false;
    };

    struct Rendezvous {
        u64 bytes = 0;
        u32 src = none;
        u32 dst = none;
        u32 tag = 0;
        Continuation then;
    };

    struct Phase {
        u64 data = 0;
        u32 level = 0;
        u32 program = none;
        u32 queue = 0;
        CollectiveKind kind = CollectiveKind::all_reduce;
        bool clockwise = true;
        bool fixed_hand_over = false;
        bool idle = false;           // the rank has nothing to do in it
    };

    // The streams of one collective on one rank.
    struct Dataset {
        u32 rank = none;
        u32 node = none;
        u32 streams_left = 0;
    };

    // How a packet crosses to the memory agent and back.
    struct HandOver {
        bool from_memory;
        bool reduces;
        bool back;
        bool of_graph;
    };

    // Whose chunk is planned.
    struct ChunkPlace {
        u32 rank;
        u32 communicator;
        const Plan* plan;
    };

    // Which of a dimension's queues a phase may use.
    enum class Half : u8 { any, first, last };

    // Where the streams of one collective chunk find each other: same communicator, same number,
    // same phases. Their messages then need no matching by tag and size.
    struct Meeting {
        u64 number = 0;                  // of the stream within its communicator
        u32 communicator = none;
        u32 next = none;                 // another meeting of the same number, with other phases
        u32 left = 0;
        std::vector<Phase> phases;
        std::vector<u32> stream;         // by member index; none before it joins
        std::vector<u32> early;          // by member index: first early arrival; empty if there is none
    };

    // An arrival for a stream that has not reached its phase, or does not exist yet.
    struct Early {
        u32 meeting = none;
        u32 member = none;
        u32 mark = 0;                    // phase and slot
        u32 next = none;
    };

    // Position within a program's runs.
    struct Cursor {
        u64 done = 0;   // packets of the run
        u32 run = 0;
    };

    // What every packet touches comes first, to lie in as few cache lines as it can.
    struct ExchangeState {
        const ExchangeProgram* machine = nullptr;
        u64 left = 0;          // sends
        u64 receipts = 0;
        u64 pending = 0;       // packets handed over or about to be, not yet sent
        u64 free = 0;          // hand-overs finished and not yet used
        u64 hand_over_ticks = 0;
        Cursor injected;
        Cursor sent;
        u64 reduce_ticks = 0;  // of run `reduce_run`
        u64 send_bytes = 0;    // of the current send run, as are the next four
        u32 to_rank = none;
        u32 to_stream = none;  // none until it has joined the meeting
        u32 to_mark = 0;       // phase and the peer's counter
        u32 from_slot = 0;
        // Arrivals less receives posted: of the next and the previous rank, or by peer.
        i32 near[2] = {0, 0};
        u32 counters = none;   // first of the counters by peer
        u32 reduce_run = none;
        // Seldom looked at.
        u64 data = 0;
        u32 from_rank = none;
        u32 to_member = none;
        bool round_up = false;
        bool clockwise = true;
    };

    struct GraphState {
        std::vector<u32> waiting;   // dependencies left, by operation
        u32 done = 0;
    };

    struct CustomState {
        std::vector<u32> waiting;   // parents left, by node
        UnorderedOrder ready;
        u32 ongoing = 0;
    };

    struct alignas(64) Stream {
        u32 rank = none;
        u32 meeting = none;
        u32 started = none;         // phase whose arrivals are counted
        u32 early = none;           // first arrival for a later phase
        ExchangeState exchange;
        u64 id = 0;
        i64 priority = 0;
        u32 dataset = none;
        u32 plan = none;
        u32 custom = none;
        u32 first_phase = 0;
        u32 end_phase = 0;
        u32 phase = none;           // running or waiting to run; none before the first
        u32 queue = none;
        u32 graph_state = none;
        u32 custom_state = none;
        u32 member = none;          // index in the meeting
        u32 tag = 0;
        bool initialised = false;
        Place place;
    };

    struct Queue {
        std::vector<u32> streams;
        u64 turn = 0;                // of the next phase to start, see Turns
        u32 running = 0;
    };

    // In which order the members of a communicator start the phases of one queue.
    struct Turn {
        u64 stream;
        u32 phase;
        u32 members_left;
        u64 tick;                    // at which the first of them started it, and in which event
        u64 event;                   // of a folded run
    };
    struct Turns {
        std::vector<Turn> coming;    // those that some member has yet to start
        u64 passed = 0;
    };

    struct RoundRobin {
        u32 any = 0;
        u32 first = 0;
        u32 last = 0;
    };

    // Of the phases that a rank made on levels that take turns: those over the same members count as one.
    struct TurnCount {
        u32 turn;
        u32 base;
        u32 count;
    };

    struct Rank {
        const Job* job = nullptr;
        std::optional<RankTables> tables;   // of a template
        std::vector<u32> waiting;      // parents left, by node
        ReadySet ready{0};
        std::vector<u32> occupied;     // by slot
        std::vector<u32> freed;        // nodes freed during an issue pass
        std::vector<Queue> queues;
        std::vector<RoundRobin> robin; // by dimension
        std::vector<u64> streams;      // made so far, by communicator or circle
        std::vector<TurnCount> turns;  // of levels whose streams alternate between two programs
        u64 first_node = 0;
        u64 compute_busy = 0;
        u64 done = 0;                  // nodes, of a folded run
        u32 in_flight = 0;
        u32 rotation = 0;              // of the round-robin inter-dimension scheduler
        i64 next_priority = 0;
        bool issuing = false;
        bool finished = false;
    };

    // --- workload.cpp
    void issue_ready(u32 rank);
    void issue(u32 rank, u32 node);
    void skip(u32 rank, u32 node);
    void make_ready(Rank& r, u32 rank, u32 node);
    void access_memory(u32 rank, u32 node);
    void serve_memory(u32 server, const MemoryRequest& request);
    void free_server(u32 server);
    void complete_node(u32 rank, u32 node);
    void release_children(u32 rank, u32 node);
    void finish_if_done(u32 rank);
    bool slot_open(const Rank& r, u32 slot) const;

    // --- streams.cpp
    void start_collective(u32 rank, u32 node);
    void start_custom(u32 rank, u32 node, u32 plan, u32 custom, i64 priority);
    i64 take_priority(Rank& r, const Op& op);
    void start_chunks(u32 rank, u32 node, u32 plan, i64 priority);
    void make_stream(u32 rank, u32 dataset, u32 plan, u32 custom, i64 priority);
    void build_phases(u32 rank, const Op& op, const Plan& plan, u64 data, bool spread);
    void add_phase(const ChunkPlace& chunk, u32 level, CollectiveKind kind, Half half, u64& data);
    bool takes_alternate(const ChunkPlace& chunk, const Level& level);
    u64 next_turn(const ChunkPlace& chunk, const Level& level);
    // The streams that a rank made so far in a communicator.
    u64& streams_made(u32 rank, u32 communicator) {
        return ranks_[rank].streams[circle(rank, communicator)];
    }
    void leave_out_phases(const ChunkPlace& chunk, CollectiveKind kind);
    void choose_queue_by_half(Rank& r, u32 dimension, Half half, Phase& phase) const;
    void choose_queue_by_chunk(const ChunkPlace& chunk, Half half, Phase& phase);
    void order_levels(u32 rank, const Op& op, const Plan& plan);
    u32 store_phases();
    void proceed(u32 stream);
    void insert_into_queue(std::vector<u32>& queue, u32 stream);
    std::size_t insertion_point(const std::vector<u32>& queue, u32 stream) const;
    std::size_t intra_dimension_point(const std::vector<u32>& queue, u32 stream) const;
    std::size_t alternating_point(const std::vector<u32>& queue, const Stream& s) const;
    void remove_from_queue(u32 rank, u32 queue);
    void start_queue(u32 rank, u32 queue);
    bool take_turn(Queue& q);
    void start_phase(u32 stream);
    void stream_finished(u32 dataset);
    Place place_in(const ChunkPlace& chunk, u32 level) const;
    u64 reduction_ticks(u64 bytes) const;

    // --- exchange.cpp
    u64 hand_over_ticks(const Phase& phase) const;
    void start_exchange(u32 stream, const Program& program);
    void inject(Stream& s, u32 stream);
    void exchange_handed_over(u32 stream, u32 run);
    static bool passes_barrier(const ExchangeState& x);
    void exchange_free(u32 stream);
    void exchange_received(u32 stream);

    // --- meeting.cpp
    i32& arrival_counter(ExchangeState& x, u32 slot);
    void resolve_peer(Stream& s);
    void exchange_post(Stream& s, u32 stream);
    void exchange_tell(Stream& s);
    void exchange_arrived(u32 stream, u32 mark);
    void exchange_arrived_early(u32 early);
    void open_counters(Stream& s);
    void close_counters(Stream& s);
    void join_meeting(u32 stream, u32 communicator);
    void leave_meeting(u32 stream);
    u32 find_meeting(u32 stream, u32 communicator);
    void note_mismatch(const Stream& s, const Meeting& other);
    u32 member_index(const Stream& s, const Plan& plan) const;
    bool counts_arrivals(const Stream& s) const;
    static bool can_send(const ExchangeState& x);
    void exchange_send(Stream& s, u32 stream);

    // --- graph.cpp
    void start_graph(u32 stream);
    void run_graph_op(u32 stream, u32 op);
    bool goes_back(const Stream& s, const GraphOp& op) const;
    void graph_op_done(u32 stream, u32 op);
    void graph_handed_over(u32 stream, u32 op);

    // --- folded.cpp
    u32 real(u32 rank) const { return folded_ ? folding_->representative[rank] : rank; }
    u32 circle(u32 rank, u32 communicator) const {
        return folded_ ? folding_->circle_of(rank, communicator) : communicator;
    }
    u32 members_of(const Stream& s, u32 circle) const;
    bool has_one_collective_at_a_time() const;
    u64 slots_around(const Rank& r, u32 node) const;
    void message_on_channel(u32 rank, u32 node);
    void note_collective(u32 rank, u32 communicator);
    void settle_ties(u32 rank);
    void count_alike(u32 rank);
    void tell_for_class(const Stream& s, const Notice& notice);
    void meet_barrier(u32 rank, u32 stream, bool looks);
    void note_receipt(const Stream& s, u32 stream);
    void note_packet(const Stream& s, u32 stream, u32 run);
    void note_window(const Stream& s, u32 stream);
    void expand(Outcome& out) const;
    void keep_links_of_classes();
    std::function<std::vector<NetworkModel::LinkRecord>()> links_on_demand() const;

    // --- shortcuts.cpp
    bool closes(u32 stream, const ExchangeProgram& machine);
    void add_closed(Outcome& out) const;
    bool may_repeat() const { return ranks_[looked_at_].done >= next_look_ && queue_.tick_is_over(); }

    // --- skipping.cpp
    class Skipping;

    // --- custom.cpp
    const CustomPosition& custom_position(const Stream& s) const;
    void start_custom_phase(u32 stream);
    void issue_custom(u32 stream);
    void issue_custom_node(u32 stream, u32 node);
    void custom_node_done(u32 stream, u32 node);
    u32 custom_rank(const Stream& s, u32 named) const;
    u64 custom_size(const Stream& s, u32 node) const;
    u64 custom_ticks(const Stream& s, u32 node) const;

    // --- transport.cpp
    void send(u32 src, u32 dst, u64 bytes, u32 tag, Continuation then);
    void receive(u32 dst, u32 src, u64 bytes, u32 tag, Continuation then);
    u64 carried(u64 bytes) const;
    void send_plain(u32 src, u32 dst, u64 bytes, u32 tag, Continuation then);
    void send_as(const MatchKey& key, u32 src, u32 dst, Continuation then);
    void receive_as(const MatchKey& key, Continuation then);
    void receive_plain(u32 dst, u32 src, u64 bytes, u32 tag, Continuation then);
    void arrive(u32 message);
    void departed(u32 message);
    void receive_late(u32 message);
    void resume(const Continuation& then);

    // --- shared_bus.cpp
    void hand_over(const Stream& s, u32 stream, u32 part, const HandOver& how, u64 bytes);
    void bus_deliver(const BusRequest& request);
    void bus_request(u32 rank, u32 port, BusRequest request);
    void bus_start(u32 rank, u32 port);
    void bus_continue(u32 rank, u32 port);
    bool bus_yields(u32 rank, u32 port);
    void bus_sent_by(u32 rank, u32 port);
    void bus_received_at(u32 rank, u32 port);
    void bus_process(u32 rank, u32 port);
    void bus_processed_at(u32 rank, u32 port);
    void bus_return_or_retire(u32 rank, u32 port, BusRequest request);
    void bus_done(u32 rank, const BusRequest& request);

    // --- recorded.cpp: of recorded runs alone
    struct Records;
    u32 place_of(u32 rank, u32 node) const { return static_cast<u32>(ranks_[rank].first_node) + node; }
    u32 place_of(const Stream& s) const;
    void record_start();
    void record_event(const Event& event);
    void record_local(u32 rank, const LocalEvent& event);
    void record_bus_event(u32 rank, const LocalEvent& event);
    void record_parent(u32 rank, u32 child);
    void record_issue(u32 rank, u32 node);
    void record_end(u32 rank, u32 node);
    void record_finish(u32 rank);
    void record_service(u32 server, const MemoryRequest& request);
    void record_collective(u32 rank, u32 node);
    void record_stream_end(u32 dataset);
    void record_entry(u32 stream);
    void record_leaving(u32 rank, u32 queue);
    void record_phase(u32 rank, u32 queue, u32 stream);
    void record_waiting_packet(u32 stream);
    void record_passing(u32 stream);
    void record_last_packet(u32 stream);
    void record_receipt(u32 stream);
    void record_sender(const Stream& s);
    void record_tell(const Stream& s);
    void record_post(const Stream& s, u32 slot, bool has_arrived);
    void record_arrival(const Stream& s, u32 slot, bool is_awaited);
    void record_receiver(const Stream& s, u32 early);
    void record_early(u32 early);
    void record_counted(const Stream& s, u32 early);
    MomentList& arrivals_of(const Stream& s, u32 slot);
    void record_graph(u32 state);
    void record_waiting_op(u32 state, u32 op);
    void record_ready_op(const Stream& s, u32 state, u32 op);
    void record_last_op(u32 state);
    void record_graph_end(const Stream& s, u32 state);
    void record_custom(u32 state, const Graph& graph);
    void record_custom_issue(const Stream& s, u32 node);
    void record_custom_end(u32 state, const std::vector<u32>& children);
    void record_custom_phase_end(const Stream& s, u32 state);
    void record_send(u32 message, bool fresh, u32 dst);
    void record_receive(u32 message, bool fresh);
    void record_delivery(u32 message);
    void record_sent_end(u32 message);
    void record_received(u32 message);
    void record_rendezvous(u32 rendezvous);
    void resume_rendezvous(u32 rendezvous);
    void record_bus_start(u32 rank, u32 port, const BusRequest& request);

    // --- diagnosis.cpp
    class Diagnosis;
    std::vector<Waiting> diagnose() const;
    std::vector<Unreceived> unreceived() const;

    void handle(const Event& event);
    void handle_local(u32 rank, const LocalEvent& event);
    const Phase& phase_of(const Stream& s) const { return phases_[s.phase]; }
    u32 communicator_of(const Stream& s) const {
        return communicator_of(s.rank, op_of(s.rank, datasets_[s.dataset].node));
    }
    ChunkPlace chunk_of(const Stream& s) const {
        const Plan& plan = model_.plans[s.plan];
        return {s.rank, plan.over_members ? communicator_of(s) : none, &plan};
    }
    const Op& op_of(u32 rank, u32 node) const { return ranks_[rank].job->ops[node]; }
    u32 communicator_of(u32 rank, const Op& op) const {
        const std::optional<RankTables>& tables = ranks_[rank].tables;
        return tables ? tables->communicators[op.communicator] : op.communicator;
    }
    u32 peer_of(u32 rank, const Op& op) const {
        const std::optional<RankTables>& tables = ranks_[rank].tables;
        return tables ? tables->peers[op.peer] : op.peer;
    }

    const Model& model_;
    std::shared_ptr<const Folding> folding_;
    const bool folded_;
    const bool shortcuts_;
    Grid grid_;
    EventQueue queue_;
    LocalEvents local_;
    std::unique_ptr<NetworkModel> network_;
    FoldedLinks* folded_links_ = nullptr;          // the same, of a folded run that keeps links
    Matcher matcher_;
    Pool<Message> messages_;
    Pool<Rendezvous> rendezvous_;
    std::vector<Rank> ranks_;
    std::vector<std::vector<Turns>> turns_;        // by communicator and queue
    u32 queues_per_lane_ = 1;
    std::vector<u64> start_;
    std::vector<u64> end_;
    Pool<Stream> streams_;
    Pool<Dataset> datasets_;
    std::vector<Phase> phases_;
    std::vector<std::vector<u32>> free_phases_;    // blocks given back, by length
    std::vector<Phase> planned_;                   // of the stream being made
    std::vector<u32> order_;                       // its levels
    std::vector<u32> usable_;                      // those of them that take part
    Pool<Meeting> meetings_;
    std::vector<std::vector<u32>> meeting_of_;      // by communicator and number of the stream
    Pool<Early> early_;
    bool match_by_tag_;
    std::optional<Mismatch> mismatch_;
    std::vector<i32> counters_;
    std::vector<std::vector<u32>> free_counters_;           // blocks given back, by level size
    Pool<GraphState> graph_states_;
    Pool<CustomState> custom_states_;
    std::optional<Themis> themis_;
    RemoteMemoryServers memory_;
    std::vector<SharedBus> buses_;
    std::vector<u64> finish_;
    std::vector<u32> finish_order_;
    u64 message_count_ = 0;
    u64 nodes_done_ = 0;
    u32 queue_threshold_ = 1;
    Ties ties_;
    bool one_at_a_time_ = false;   // of folded runs, as is the next
    SendOrder send_order_;
    std::shared_ptr<Records> records_;   // of recorded runs
    ClosedForms closed_;
    std::unique_ptr<Skipping> skipping_;
    u32 looked_at_ = 0;            // the rank whose nodes tell when to look for a repetition
    u64 next_look_ = never;        // after so many of them
};

}  // namespace yantra
