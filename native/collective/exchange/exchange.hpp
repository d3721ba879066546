// Exchange: the machine of ring, direct and halving-doubling phases (astra-sim-semantics 5.2 to
// 5.5): how a phase begins, and who drives it. The rules are in law.hpp, and a usual packet's path
// in single.cpp; in_step and rounds do the same for many at once.
#pragma once

#include "collective/exchange/beginnings.hpp"
#include "collective/exchange/in_step.hpp"
#include "collective/phase_input.hpp"
#include "collective/exchange/phase_times.hpp"
#include "engine/component.hpp"

namespace yantra::inline YANTRA_RUN {

class Exchange final : public Component {
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

    void pass_no_rounds() { rounds_.pass_none(); }
    void expect(u64 chunks) { peers_.state().chunks.reserve(chunks); }
    // `early`: what came for the chunk before.
    void join(ChunkId chunk, u32 node, u32 early);
    void start(ChunkId chunk, const PhaseInput& start, const exchange::Beginning& beginning);
    // Precondition: the chunk has joined its table.
    bool start_alike(ChunkId chunk, const exchange::Beginning& beginning, const OfChunk& own);
    // Midway.
    void play_on(ChunkId chunk, const PhaseInput& start, const PhaseMoment& at);

    // Without crossing the shared bus.
    u64 hand_over_ticks(bool fixed) const { return hand_overs_.ticks(fixed); }
    bool counts_arrivals(u32 table) const { return peers_.are_counted(table); }
    bool is_between_phases(ChunkId chunk) const {
        const exchange::Packets& x = state().chunks[chunk.index()];
        return x.started == none && x.early == none;
    }

    void handle(const Event& event) override { single_.handle(event); }
    u32 handle_run(const EventRun& run, u32 at, u32 until) override {
        in_step_.handle_arrivals(run, at, until);
        return until;
    }
    void handle_of_actor(ActorId, const RankEvent& event) override { single_.handle(event); }
    u32 handle_many(ActorId, const RankEvent& first, u32 count) override { return in_step_.handle_many(first, count); }
    void completed(const Completion& completion) override { single_.completed(completion); }
    void handle_first(ActorId actor) { single_.handle_first(actor); }
    // Stops at any other event, a pause, or in a batch with further events.
    u32 handle_of_ranks(const EventRun& run, u32 at, u32 until) { return in_step_.handle_of_ranks(run, at, until); }

    const exchange::State& state() const { return peers_.state(); }

private:
    exchange::Packets& prepare(ChunkId chunk, const PhaseInput& start);

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
