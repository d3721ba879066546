// Collectives: a run's collectives, cut into chunks, queued and run phase by phase on one of three
// machines: exchange, graph or custom (astra-sim-semantics 4).
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "collective/runtime/chunk_shapes.hpp"
#include "collective/runtime/chunks.hpp"
#include "collective/runtime/collectives_probe.hpp"
#include "collective/runtime/custom_machine.hpp"
#include "collective/exchange/exchange.hpp"
#include "collective/runtime/graph_machine.hpp"
#include "collective/exchange/phase_times.hpp"
#include "collective/runtime/planner.hpp"
#include "collective/runtime/queues.hpp"
#include "collective/runtime/series.hpp"
#include "transport/peer_tables.hpp"

namespace yantra::inline YANTRA_RUN {

struct MismatchedNodes {
    ActorId actor;
    NodeId node;
    ActorId other_actor;
    NodeId other_node;
};

class Collectives final : public Component, private PhaseEnd {
public:
    struct Options {
        bool match_by_tag = false;           // pair messages by tag and size alone, as upstream
        OrderWatcher* watcher = nullptr;
        PhaseTimes* times = nullptr;
        bool pairs_in_order = false;         // the network keeps messages of a pair in order
        bool one_slot_kind = false;          // all collectives and sends share one kind of slot
        bool one_at_a_time = false;          // no kind of slot has two of them
    };
    struct State {
        IdVector<ActorId, i64> next_priority;
        std::optional<MismatchedNodes> mismatch;   // the first
    };

    Collectives(const CollectiveParameters& parameters, const Semantics& semantics, const Grid& grid,
                const Actors& actors, Engine& engine, Transport& transport, SharedBus& bus,
                LocalBandwidth& local, Completions& completions, const Options& options);

    void start(const CollectiveRequest& request);

    void handle_of_actor(ActorId actor, const RankEvent& event) override;
    PhaseInput input_of(ChunkId chunk) const;
    // `turns` further in its series.
    void take_turns(ChunkId chunk, u32 turns);
    void play_on(ChunkId chunk, const PhaseMoment& moment) { exchange_.play_on(chunk, input_of(chunk), moment); }
    Exchange& exchange() { return exchange_; }
    GraphMachine& graph() { return graph_; }
    CustomMachine& custom() { return custom_; }

    const std::optional<MismatchedNodes>& mismatch() const { return state_.mismatch; }
    const Chunks& chunks() const { return chunks_; }
    const ChunkQueues& queues() const { return queues_; }
    const CustomMachine& custom() const { return custom_; }

    // See visit_state() in collective/runtime/state.hpp.
    Chunks& chunks() { return chunks_; }
    ChunkQueues& queues() { return queues_; }
    Planner& planner() { return planner_; }
    PeerTables& tables() { return tables_; }
    State& state() { return state_; }

private:
    enum Kind : u32 { phase_done, timed_done };   // of an actor's events; a: the chunk

    void phase_ends(ChunkId chunk) override { proceed(chunk); }

    // Common to a collective's chunks.
    struct Entry {
        u32 instance = none;   // none before the first chunk
        u32 plan = none;
        u32 custom = none;
        i64 priority = 0;
        // Of the communicator, as the actors know it.
        u32 of_class = none;
        u32 members = 0;
        u32 member = none;     // that the actor is
        u64 first_chunk = 0;   // among the chunks of all communicators
        u64* made = nullptr;   // chunks of the actor
    };
    i64 take_priority(const CollectiveRequest& request);
    void enter(const CollectiveRequest& request, Entry& entry);
    // `more`: bytes of the chunks that it represents. `planned`: the planner's number, or 0.
    void make_chunk(const Entry& entry, std::span<const Phase> phases, std::span<const u64> more = {},
                    u64 planned = 0, u8 later = 0);
    bool cut_in_turns(const CollectiveRequest& request, Entry& entry);
    void take_turn(ChunkId chunk);
    void make_all(const CollectiveRequest& request, Entry& entry);
    static bool has_own_queue(const Plan& plan) {
        return plan.levels.size() == 1 && !plan.shared_load;
    }
    bool cut_at_once(const CollectiveRequest& request, Entry& entry);
    u32 tag_of(const Chunk& chunk) const;
    void join_table(ChunkId chunk, const Entry& entry, std::span<const PhaseShape> shapes);
    void begin(ChunkId chunk);
    void proceed(ChunkId chunk);
    void end(ChunkId chunk);
    void start_queue(ActorId actor, u32 queue);
    void start_waiting(ActorId actor, u32 queue);
    void start_phase(ChunkId chunk);
    void start_timed(ChunkId chunk, const TimedProgram& program);
    void instance_advances(u32 instance);

    const CollectiveParameters& parameters_;
    const Semantics& semantics_;
    const Actors& actors_;
    Engine& engine_;
    Completions& completions_;
    Options options_;
    Chunks chunks_;
    Planner planner_;
    PeerTables tables_;
    ChunkQueues queues_;
    Exchange exchange_;
    GraphMachine graph_;
    CustomMachine custom_;
    CollectivesProbe probe_;
    State state_;
    ChunkShapes shapes_;
    Series series_;
    bool keeps_turns_;      // chunks of a collective run in order in their queue
    bool makes_at_turn_;    // and are made then
};

}  // namespace yantra
