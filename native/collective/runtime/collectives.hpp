// Collectives: a run's collectives, cut into chunks, queued and run phase by phase
// (astra-sim-semantics 4).
//
// Phases are planned when the collective starts (planner.hpp), wait in a queue of their dimension
// (queues.hpp), and run on one of three machines: exchange, graph or custom.
#pragma once

#include <optional>
#include <span>

#include "base/vector.hpp"
#include "collective/runtime/chunks.hpp"
#include "collective/runtime/collectives_probe.hpp"
#include "collective/runtime/custom_machine.hpp"
#include "collective/exchange/exchange.hpp"
#include "collective/runtime/graph_machine.hpp"
#include "collective/exchange/phase_times.hpp"
#include "collective/runtime/planner.hpp"
#include "collective/runtime/queues.hpp"
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
    // To play it from where it is if its known end is void (PhaseTimes).
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
    // `later`: as in Chunks.
    void make_chunk(const Entry& entry, std::span<const Phase> phases, std::span<const u64> more = {},
                    u64 planned = 0, u8 later = 0);
    bool keeps_turns(bool all_share_queues) const;
    bool cut_in_turns(const CollectiveRequest& request, Entry& entry);
    void next_turn(ChunkId chunk);
    void take_turn(ChunkId chunk);
    void make_all(const CollectiveRequest& request, Entry& entry);
    bool plan_series(const CollectiveRequest& request, const Plan& plan, u64& after);
    bool is_exchange(const Phase& phase) const {
        return !phase.idle && std::holds_alternative<ExchangeProgram>(parameters_.programs[phase.program].machine);
    }
    // Whether one-phase chunks run in order in their own queue.
    bool come_one_by_one(const Plan& plan) const {
        return keeps_turns_ && plan.levels.size() == 1 && !plan.shared_load;
    }
    bool come_at_turn(const Plan& plan) const {
        return makes_at_turn_ && plan.levels.size() == 1 && !plan.shared_load;
    }
    bool cut_at_once(const CollectiveRequest& request, Entry& entry);
    bool are_known(const CollectiveRequest& request, u32 plan_index);
    struct SeriesOf {
        const Plan* plan = nullptr;
        u64 bytes = 0;
        u64 involved = 0;
        u32 queue_set = 0;
        CollectiveKind kind = CollectiveKind::all_reduce;
        bool operator==(const SeriesOf&) const = default;
    };
    // A collective cut into one representative chunk. An equal one is cut alike: on its only level
    // no programs alternate.
    struct Series {
        u64 bytes = 0;
        u64 involved = 0;
        u32 plan = none;
        u32 communicator = none;
        CollectiveKind kind = CollectiveKind::all_reduce;
        Phase phase;
        Vector<u64> more;   // bytes of the chunks behind the first
    };
    static constexpr std::size_t most_series = 8;   // of an actor: a step has a few kinds of them
    const Series* known_series(const CollectiveRequest& request, u32 plan_index) const;
    void remember_series(const CollectiveRequest& request, u32 plan_index, const Vector<u64>& more);
    PhaseInput input_of(const Phase& phase, ActorId actor, u32 plan_index, u32 communicator) const;
    u32 tag_of(const Chunk& chunk) const;
    static PhaseShape shape_of(const Phase& phase) { return {phase.program, phase.level, phase.data}; }
    PhaseShape shape_of_bytes(const Chunk& chunk) const { return {none, none, chunks_.instance(chunk).bytes}; }
    // Themis cuts a collective as another rank's was cut, so chunks may agree where collectives do
    // not.
    bool tells_bytes() const { return !semantics_.quirks.mismatched_collectives_meet; }
    void tell_shapes(const Chunk& chunk);
    void join_table(ChunkId chunk, const Entry& entry, std::span<const PhaseShape> shapes);
    void begin(ChunkId chunk);
    void proceed(ChunkId chunk);
    void end(ChunkId chunk);
    void start_queue(ActorId actor, u32 queue);
    void start_waiting(ActorId actor, u32 queue);
    void start_phase(ChunkId chunk);
    void start_timed(ChunkId chunk, const TimedProgram& program);
    void instance_advances(u32 instance);
    u32 member_of(u32 plan_index, u32 communicator, ActorId actor) const;

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
    Vector<PhaseShape> shapes_;   // of the chunk that joins its table
    u64 shapes_of_ = 0;                // how that one was planned
    Vector<Phase> series_;        // of successive one-phase chunks
    SeriesOf series_of_;               // where the next equal collective finds them
    bool series_of_exchanges_ = false;
    Vector<Vector<Series>> known_series_;   // by actor
    u32 ranks_;
    bool keeps_turns_;
    bool makes_at_turn_;
};

}  // namespace yantra
