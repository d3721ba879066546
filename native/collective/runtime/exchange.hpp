// Exchange: the machine of ring, direct and halving-doubling phases (astra-sim-semantics 5.2 to
// 5.5).
//
// A window of packets is handed to the memory agent at the start and one more for every receipt;
// after each hand-over come the reduction, if any, a send and the posting of a receive. A run
// spends its time here, so each packet's data fits two cache lines, and what is constant in a phase
// is computed at its start.
#pragma once

#include <span>

#include "base/huge_pages.hpp"
#include "base/ids.hpp"
#include "base/vector.hpp"
#include "collective/parameters.hpp"
#include "collective/runtime/exchange_probe.hpp"
#include "collective/runtime/reduction.hpp"
#include "collective/runtime/phase_end.hpp"
#include "collective/runtime/phase_input.hpp"
#include "collective/runtime/phase_times.hpp"
#include "engine/actors.hpp"
#include "engine/engine.hpp"
#include "engine/order_watcher.hpp"
#include "engine/semantics.hpp"
#include "memory/local_bandwidth.hpp"
#include "memory/shared_bus.hpp"
#include "transport/peer_tables.hpp"
#include "transport/transport.hpp"

namespace yantra::inline YANTRA_RUN {

class Exchange {
public:
    struct Cursor {
        u32 left = 0;   // packets of the run
        u32 run = 0;

        // True if it enters another run.
        bool advance(const ExchangeProgram& machine) {
            if (--left > 0) [[likely]] {
                return false;
            }
            if (++run < machine.runs.size()) {
                left = static_cast<u32>(machine.runs[run].count);
            }
            return true;
        }
    };
    // Of a chunk; what every packet touches comes first.
    struct alignas(64) Packets {
        const ExchangeProgram* machine = nullptr;
        u64 hand_over_ticks = 0;
        u64 reduce_ticks = 0;      // of run `reduce_run`, not_reduced or shares_memory
        u64 send_bytes = 0;        // of the current send run, as are the next four
        FixedWay way;              // where no message waits for another
        u32 link = none;           // if it is the messages' whole way
        ChunkId to_chunk;          // none until it has joined the table
        u32 to_mark = 0;           // phase and the peer's counter
        u32 from_counter = 0;
        u32 started = none;        // phase whose arrivals are counted; none between phases
        // Arrivals less receives posted: of the next and previous rank, or by peer in `counters`.
        i32 near[2] = {0, 0};
        u32 counters = none;
        u32 left = 0;              // sends
        u32 receipts = 0;
        u32 pending = 0;           // packets handed over or about to be, not yet sent
        u32 free = 0;              // hand-overs finished and not yet used
        u32 reduce_run = none;
        u32 barrier_at = 0;        // as the program has it
        u32 ranks = 1;             // that the actor represents
        Cursor injected;
        Cursor sent;
        ActorId actor;
        u32 table = none;
        // Per run of packets.
        u32 rank = none;
        u32 to_rank = none;        // of the current send run
        u32 member = none;
        u32 early = none;          // newest arrival for a later phase
        // Rarely read.
        u32 to_member = none;
        u32 from_rank = none;
        u64 data = 0;
        u64 number = 0;
        u32 phase = 0;
        u32 tag = 0;
        u32 node = none;
        bool round_up = false;
        bool clockwise = true;
        bool by_bus = false;
        Place place;
    };
    struct State {
        HugeVector<Packets> chunks;
        Vector<i32> counters;
        Vector<Vector<u32>> free_counters;   // freed blocks, by size of the level
        Vector<u64> arrivals;   // beside `counters`: when the last message to a peer arrives
    };

    // Beside the chunk.
    struct Beginning {
        const Program* program = nullptr;
        u64 data = 0;
        ActorId actor;
        u32 plan = none;
        u32 level = none;
        u32 communicator = none;
        u32 phase = 0;
        bool clockwise = true;
        bool fixed_hand_over = false;

        bool operator==(const Beginning&) const = default;
    };
    // As in PhaseInput.
    struct OfChunk {
        u32 table;
        u32 tag;
        u64 number;
    };

    Exchange(const CollectiveParameters& parameters, const Semantics& semantics, const Actors& actors,
             Engine& engine, Transport& transport, PeerTables& tables, SharedBus& bus, LocalBandwidth& local,
             PhaseEnd& phases, PacketWatcher* watcher)
        : parameters_(parameters), semantics_(semantics),
          actors_(actors),
          engine_(engine),
          transport_(transport),
          tables_(tables),
          bus_(bus),
          local_(local),
          phases_(phases),
          watcher_(watcher),
          ways_are_alike_(transport.ways_are_alike()),
          probe_(engine.recorder()) {}

    // Simulates every message from now on (exchange_rounds.cpp).
    void pass_no_rounds() { passes_rounds_ = false; }
    void expect(u64 chunks) { state_.chunks.reserve(chunks); }
    // `early`: what came for the chunk before.
    void join(ChunkId chunk, u32 node, u32 early);
    void start(ChunkId chunk, const PhaseInput& start, const Beginning& beginning);
    // If one of the actor's last phases began alike; else false, without effect. Precondition: the
    // chunk has joined its table.
    bool start_alike(ChunkId chunk, const Beginning& beginning, const OfChunk& own);
    // Midway. The first overload: for one packet at a time.
    void play_on(ChunkId chunk, const PhaseInput& start, const PhaseProgress& at);
    void play_on(ChunkId chunk, const PhaseInput& start, const PhaseMoment& at);
    // Without crossing the shared bus.
    u64 hand_over_ticks(bool fixed) const {
        return fixed ? parameters_.system.group_hand_over : parameters_.system.endpoint_delay;
    }
    // Under rendezvous every message needs its receive, which only the matcher knows.
    bool counts_arrivals(u32 table) const { return table != none && !transport_.is_rendezvous(); }

    bool is_between_phases(ChunkId chunk) const {
        const Packets& x = state_.chunks[chunk.index()];
        return x.started == none && x.early == none;
    }

    // Handle events from `at` to at most `until`; return where they stopped: at another handler's
    // event or, in the second, a pause. The second leaves a batch with further events running.
    // (exchange_in_step.cpp)
    u32 handle_arrivals(const EventRun& run, u32 at, u32 until);
    u32 handle_of_ranks(const EventRun& run, u32 at, u32 until);
    [[gnu::noinline]] void handle(const Event& event);
    [[gnu::noinline]] void handle(const RankEvent& event);
    // For the first event of an actor's own batch.
    [[gnu::noinline]] void handle_of_rank(u32 batch);
    // `count` events of a chunk's successive packets; returns how many were handled.
    // (exchange_many.cpp)
    [[gnu::noinline]] u32 handle_many(const RankEvent& event, u32 count);
    void completed(const Completion& completion);

    const State& state() const { return state_; }
    State& state() { return state_; }

private:
    u64 ticks_of_reduction(u64 bytes) const {
        return reduction_ticks(parameters_.system.memory_bytes_per_s, semantics_.scale, bytes);
    }
    // An arrival's kind is its mark: phase and peer's counter. The highest phase number is unused
    // and marks the other two.
    static constexpr u32 counter_bits = 20;
    static constexpr u32 counter_mask = (1u << counter_bits) - 1;
    static constexpr u32 most_phases = (1u << (EventKind::kind_bits - counter_bits)) - 1;
    static constexpr u32 early_arrival = most_phases << counter_bits;
    static constexpr u32 receive_ready = early_arrival + 1;
    static constexpr u64 not_reduced = ~u64{0};
    static constexpr u64 shares_memory = not_reduced - 1;   // each reduction is requested separately
    enum Kind : u32 { handed_over, reduced, received };   // of an actor's events, and completions

    Packets& of(ChunkId chunk) { return state_.chunks[chunk.index()]; }
    i32& counter(Packets& x, u32 slot) {
        return x.counters == none ? x.near[slot] : state_.counters[x.counters + slot];
    }

    Packets& prepare(ChunkId chunk, const PhaseInput& start);
    void keep_beginning(Packets& x, const Beginning& beginning);
    void hand_over_window(ChunkId chunk, Packets& x);
    Notice notice_of_arrival(Packets& x);
    void sent_one(Packets& x);
    void open_counters(ChunkId chunk, Packets& x);
    void close_counters(Packets& x);
    u64 in_order(const Packets& x, u64 arrives);
    void resolve_peer(Packets& x);
    void inject(ChunkId chunk, Packets& x);
    void hand_over_by_bus(ChunkId chunk, const Packets& x, u32 run);
    // False if it is reduced first.
    bool hand_over_ends(ChunkId chunk, Packets& x, u32 run);
    void settle_reduction(Packets& x, u32 run);
    void know_reduction(Packets& x, u32 run) {
        if (x.reduce_run == run) [[likely]] {
            return;
        }
        const Run* const runs = x.machine->runs.data();
        const bool is_alike = x.reduce_run != none && runs[run].reduce == runs[x.reduce_run].reduce;
        x.reduce_run = run;
        if (!is_alike) {
            settle_reduction(x, run);
        }
    }
    // Same peers and bytes. Not for the first run.
    static bool goes_like_before(const Run& run) {
        const Run& before = (&run)[-1];
        return run.out == before.out && run.into == before.into && run.by_xor == before.by_xor &&
               run.bytes == before.bytes;
    }
    void reduce_beside_others(ChunkId chunk, const Packets& x, u32 run);
    void at_barrier(ChunkId chunk, Packets& x);
    void try_to_end(ChunkId chunk, Packets& x);
    void packet_is_free(ChunkId chunk, Packets& x);
    void is_free_apart(ChunkId chunk);
    bool passes_barrier(const Packets& x) const;
    // Return whether the posted receive has its message.
    bool send(ChunkId chunk, Packets& x);
    bool post(ChunkId chunk, Packets& x);
    void has_message(ChunkId chunk) {
        engine_.queue.schedule(engine_.now(), {Owner::exchange, receive_ready}, chunk.index());
    }
    bool receives_at_once(const Packets& x) const;
    void send_counted(ChunkId chunk, Packets& x);
    void step(const RankEvent& event);
    template <bool is_one_kind>
    u32 arrive_in_step(const EventRun& run, u32 at, u32 until);
    u32 step_in_step(const EventRun& run, u32 at, u32 until);
    u32 reduce_in_step(const EventRun& run, u32 at, u32 until);
    u32 send_in_step(const EventRun& run, u32 at, u32 until);
    u32 send_over_links(const EventRun& run, u32 at, u32 until);
    Packets* sends_in_step(const RankEvent* event);
    void sent_in_step(u32 batch, Packets& x);
    static bool sends_usually(const Packets& x) {
        const bool is_usual = x.left > 1 && x.sent.left > 1;
        if (!is_usual && (x.machine->returns || (x.left == 1 && x.free == x.machine->window))) {
            return false;
        }
        return x.left > x.barrier_at && !x.to_chunk.is_none();
    }
    u32 wait_many(Packets& x, u32 count) const;
    bool send_together(const Packets& x) const;
    u32 send_many(ChunkId chunk, Packets& x, u32 count);
    u32 send_many_over_links(Packets& x, u32 count);
    // By node, then chunk, within a tick.
    static u64 order_of(const Packets& x) { return u64{x.node} << 32U | (static_cast<u32>(x.number) + 1); }
    static OverLink over_link(const Packets& x, Notice arrived) {
        return {x.link, arrived, RankId(x.rank), RankId(x.to_rank), order_of(x)};
    }
    // A run of arrivals, and those that follow in its tick, up to the sends; false, without effect,
    // if observable. (exchange_round.cpp)
    bool go_round(const EventRun& run);
    bool goes_like(const Packets& first, Packets& x, u32 phase, u32 slot);
    void goes_on(Packets& x, u32 slot);
    bool go_alike(std::span<const u32> chunks, u32 phase, u32 slot);
    struct Round {
        u32 mark;      // of its arrivals
        u64 ticks;     // from an arrival to the send
        u64 events;    // of a rank, with its arrival
    };
    // Returns the next arrivals in order. (exchange_rounds.cpp)
    std::span<const u32> pass_rounds(std::span<const u32> chunks, const Round& round);
    u64 ticks_of_way(std::span<const u32> chunks);
    bool send_to_each_other(std::span<const u32> chunks, u32 mark);
    u64 rounds_alike(std::span<const u32> chunks) const;
    void count_rounds(std::span<const u32> chunks, u32 rounds);
    void round_over_ways(std::span<const u32> chunks, u32 slot);
    void round_over_links(std::span<const u32> chunks, u32 slot);
    // Prefetches some events ahead: with thousands of ranks packets are not cached, and rings give
    // no predictable order.
    template <class Chunks>
    static void fetch_ahead(const Packets* packets, const Chunks& chunks, u32 at, u32 until) {
        constexpr u32 ahead = 8;
        if (at + ahead < until) {
            const auto* const coming = reinterpret_cast<const char*>(packets + chunks[at + ahead]);
            __builtin_prefetch(coming, 1);
            __builtin_prefetch(coming + 64, 1);
        }
    }
    void arrive(ChunkId chunk, u32 mark);
    void arrive_early(u32 early);
    void receive(ChunkId chunk, Packets& x);

    const CollectiveParameters& parameters_;
    const Semantics& semantics_;
    const Actors& actors_;
    Engine& engine_;
    Transport& transport_;
    PeerTables& tables_;
    SharedBus& bus_;
    LocalBandwidth& local_;
    PhaseEnd& phases_;
    PacketWatcher* watcher_;
    const bool ways_are_alike_;
    ExchangeProbe probe_;
    State state_;
    Vector<OverLink> over_links_;   // kept for its memory
    struct Seen {
        u64 round = 0;
        u32 at = 0;   // among the chunks of the round
    };
    // Cached: alternating chunks reduce equally in the same runs.
    struct Reduction {
        const Run* packet = nullptr;
        u64 data = 0;
        u64 ticks = not_reduced;
    };
    Reduction reduction_;
    u64 round_ = 0;                      // the last one tried
    Vector<Seen> seen_;             // by actor: the last one in which it was looked at
    Vector<u32> of_round_;          // its chunks, if not one list; kept for its memory
    Vector<u32> receivers_;         // of pass_rounds(): by place, that of the receiver
    Vector<u32> places_;
    bool passes_rounds_ = true;
    bool phase_ended_ = false;   // since it was last reset

    // Cached for some hundreds of actors, as more would leave the cache; with few, several each,
    // since a step has several kinds.
    struct Begun {
        Beginning beginning;
        Packets packets;
    };
    static constexpr u32 most_begun = 512;
    static constexpr u32 most_begun_of_few = 128;
    static constexpr u32 most_begun_of_actor = 4;
    // Null if none.
    const Begun* begun_like(const Beginning& beginning);
    Vector<Begun> begun_;      // by actor
    Vector<u32> begun_last_;   // by actor: the one looked for last
    u32 begun_by_each_ = 0;
};

}  // namespace yantra
