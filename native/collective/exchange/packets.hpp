// Packets of a chunk in its phase: how far they are, and what it takes to send them. What a usual
// packet touches fits two cache lines.
#pragma once

#include <vector>

#include "base/huge_pages.hpp"
#include "base/ids.hpp"
#include "collective/exchange/law.hpp"
#include "engine/event.hpp"
#include "network/network.hpp"

namespace yantra::exchange {

// Of an actor's events, and completions.
enum Kind : u32 { handed_over, reduced, received };

// An arrival's kind is its mark: phase and the counter at its receiver.
struct Mark {
    static constexpr u32 counter_bits = 20;
    static constexpr u32 most_counters = (1u << counter_bits) - 1;
    static constexpr u32 most_phases = (1u << (EventKind::kind_bits - counter_bits)) - 1;
    static constexpr u32 early_arrival = most_phases << counter_bits;
    static constexpr u32 receive_ready = early_arrival + 1;

    static constexpr u32 of(u32 phase, u32 counter) { return phase << counter_bits | counter; }
    static constexpr bool is_of_chunk(u32 mark) { return mark < early_arrival; }   // that is there
    static constexpr u32 phase(u32 mark) { return mark >> counter_bits; }
    static constexpr u32 counter(u32 mark) { return mark & most_counters; }
};

constexpr u64 not_reduced = ~u64{0};
constexpr u64 shares_memory = not_reduced - 1;   // each reduction is requested separately

// What every packet touches comes first.
struct alignas(64) Packets : Progress {
    u64 hand_over_ticks = 0;
    u64 reduce_ticks = 0;
    u64 send_bytes = 0;        // of the current send run, as are the next four
    FixedWay way;              // where no message waits for another
    u32 link = none;           // if it is the messages' whole way
    ChunkId to_chunk;          // none until it has joined the table
    u32 to_mark = 0;
    u32 from_counter = 0;
    u32 started = none;        // phase whose arrivals are counted; none between phases
    // Arrivals less receives posted: of the next and previous rank, or by peer in `counters`.
    i32 near[2] = {0, 0};
    u32 counters = none;
    u32 reduce_run = none;
    u32 ranks = 1;             // that the actor represents
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

    const Run& run(u32 at) const { return program->runs[at]; }
    PeersOf peers() const { return {*program, run(sent.run), place, clockwise}; }
    // Whether only an arrival and a receive follow.
    bool is_usual() const { return sends_one() && !to_chunk.is_none() && !program->returns; }
    // By node, then chunk, within a tick.
    u64 order() const { return u64{node} << 32U | (static_cast<u32>(number) + 1); }
    Message message() const { return {RankId(rank), RankId(to_rank), send_bytes, ranks, order()}; }
    // Unless its receiver has yet to join.
    Notice notice() const { return {{Owner::exchange, to_mark}, to_chunk.index()}; }
    OverLink over_link(Notice arrived) const {
        return {link, arrived, RankId(rank), RankId(to_rank), order()};
    }
};

struct State {
    HugeVector<Packets> chunks;
    std::vector<i32> counters;
    std::vector<std::vector<u32>> free_counters;   // freed blocks, by size of the level
    std::vector<u64> arrivals;   // beside `counters`: when the last message to a peer arrives
};

// Prefetches: with thousands of ranks packets are not cached.
template <class Chunks>
void fetch_ahead(const Packets* packets, const Chunks& chunks, u32 at, u32 until) {
    constexpr u32 ahead = 8;
    if (at + ahead < until) {
        const auto* const coming = reinterpret_cast<const char*>(packets + chunks[at + ahead]);
        __builtin_prefetch(coming, 1);
        __builtin_prefetch(coming + 64, 1);
    }
}

}  // namespace yantra::exchange
