// Single: the exchange one event at a time, which every other driver equals.
#pragma once

#include "collective/exchange/hand_overs.hpp"
#include "collective/exchange/peers.hpp"
#include "collective/phase_end.hpp"

namespace yantra::exchange::inline YANTRA_RUN {

class Single {
public:
    Single(Engine& engine, Transport& transport, PhaseEnd& phases, PacketWatcher* watcher, Probe& probe, Peers& peers,
           HandOvers& hand_overs)
        : engine_(engine), transport_(transport), phases_(phases), watcher_(watcher), probe_(probe), peers_(peers),
          hand_overs_(hand_overs) {}

    void start(ChunkId chunk, Packets& x);
    [[gnu::noinline]] void handle(const Event& event);
    void handle(const RankEvent& event);
    // Of an actor's own batch.
    [[gnu::noinline]] void handle_first(ActorId actor);
    void completed(const Completion& completion);

    [[gnu::noinline]] void is_free_apart(ChunkId chunk) { is_free(chunk, peers_.of(chunk)); }
    void has_message(ChunkId chunk) {
        engine_.queue.schedule(engine_.now(), {Owner::exchange, Mark::receive_ready}, chunk.index());
    }

    bool phase_ended = false;   // since it was last reset

private:
    void step(const RankEvent& event);
    void is_free(ChunkId chunk, Packets& x);
    void looks(ChunkId chunk, const Packets& x);
    // Returns whether the posted receive has its message.
    bool send(ChunkId chunk, Packets& x);
    bool receives_at_once(const Packets& x) const;
    void receive(ChunkId chunk, Packets& x);
    void end(ChunkId chunk, Packets& x);

    Engine& engine_;
    Transport& transport_;
    PhaseEnd& phases_;
    PacketWatcher* watcher_;
    Probe& probe_;
    Peers& peers_;
    HandOvers& hand_overs_;
};

}  // namespace yantra::exchange
