// Exchange: the machine of ring, direct and halving-doubling phases (astra-sim-semantics 5.2 to
// 5.5): how a phase begins, and who drives it.
//
// The rules are in law.hpp, and a usual packet's path in single.cpp; in_step and rounds do the same
// for many at once.
#pragma once

#include "collective/exchange/beginnings.hpp"
#include "collective/exchange/in_step.hpp"
#include "collective/phase_input.hpp"
#include "collective/exchange/phase_times.hpp"

namespace yantra::inline YANTRA_RUN {

class Exchange {
public:
    // As in PhaseInput.
    struct OfChunk {
        u32 table;
        u32 tag;
        u64 number;
    };

    Exchange(const CollectiveParameters& parameters, const Semantics& semantics, const Actors& actors,
             Engine& engine, Transport& transport, PeerTables& tables, SharedBus& bus, LocalBandwidth& local,
             PhaseEnd& phases, PacketWatcher* watcher);

    // Simulates every message from now on (rounds.hpp).
    void pass_no_rounds() { rounds_.pass_none(); }
    void expect(u64 chunks) { peers_.state().chunks.reserve(chunks); }
    // `early`: what came for the chunk before.
    void join(ChunkId chunk, u32 node, u32 early);
    void start(ChunkId chunk, const PhaseInput& start, const exchange::Beginning& beginning);
    // If one of the actor's last phases began alike; else false, without effect. Precondition: the
    // chunk has joined its table.
    bool start_alike(ChunkId chunk, const exchange::Beginning& beginning, const OfChunk& own);
    // Midway. The first overload: for one packet at a time.
    void play_on(ChunkId chunk, const PhaseInput& start, const PhaseProgress& at);
    void play_on(ChunkId chunk, const PhaseInput& start, const PhaseMoment& at);

    // Without crossing the shared bus.
    u64 hand_over_ticks(bool fixed) const { return hand_overs_.ticks(fixed); }
    bool counts_arrivals(u32 table) const { return peers_.are_counted(table); }
    bool is_between_phases(ChunkId chunk) const {
        const exchange::Packets& x = state().chunks[chunk.index()];
        return x.started == none && x.early == none;
    }

    exchange::Single& single() { return single_; }
    exchange::InStep& in_step() { return in_step_; }
    const exchange::State& state() const { return peers_.state(); }

private:
    exchange::Packets& prepare(ChunkId chunk, const PhaseInput& start);
    void went(exchange::Packets& x);

    const Actors& actors_;
    Engine& engine_;
    Transport& transport_;
    PeerTables& tables_;
    exchange::Probe probe_;
    exchange::Peers peers_;
    exchange::HandOvers hand_overs_;
    exchange::Single single_;
    exchange::Rounds rounds_;
    exchange::InStep in_step_;
    exchange::Beginnings beginnings_;
};

}  // namespace yantra
