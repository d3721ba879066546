// CustomMachine: phases given as Chakra traces, one for each position (astra-sim-semantics 8).
#pragma once

#include <vector>

#include "base/ids.hpp"
#include "collective/custom.hpp"
#include "collective/parameters.hpp"
#include "collective/runtime/chunks.hpp"
#include "collective/runtime/graph_probe.hpp"
#include "collective/reduction.hpp"
#include "collective/phase_end.hpp"
#include "engine/actors.hpp"
#include "engine/component.hpp"
#include "engine/engine.hpp"
#include "engine/semantics.hpp"
#include "memory/local_bandwidth.hpp"
#include "transport/transport.hpp"

namespace yantra::inline YANTRA_RUN {

class CustomMachine final : public Component {
public:
    CustomMachine(const CollectiveParameters& parameters, const Semantics& semantics, const Actors& actors,
                  Engine& engine, Transport& transport, LocalBandwidth& local, Chunks& chunks, PhaseEnd& phases)
        : parameters_(parameters), semantics_(semantics),
          actors_(actors),
          engine_(engine),
          transport_(transport),
          local_(local),
          chunks_(chunks),
          phases_(phases),
          probe_(engine.recorder()) {}

    void start(ChunkId chunk);
    void handle_of_actor(ActorId actor, const RankEvent& event) override;
    void completed(const Completion& completion) override;

    const Graph& trace_of(const Chunk& chunk) const { return *position_of(chunk).graph; }
    RankId rank_named(const Chunk& chunk, u32 number) const;
    u64 bytes_of(const Chunk& chunk, u32 node) const;
    u64 reduced_bytes(const Chunk& chunk, u32 node) const;

private:
    u64 ticks_of_reduction(u64 bytes) const {
        return reduction_ticks(parameters_.system.memory_bytes_per_s, semantics_.scale, bytes);
    }
    // Of an actor's events and of completions; a: the chunk, b: the node.
    enum Kind : u32 { node_done, nothing_to_do };

    struct Phase {
        std::vector<u32> waiting;   // parents left, by node
        UnorderedOrder ready;
        u32 ongoing = 0;
    };

    Phase& of(ChunkId chunk) { return phases_of_chunks_[chunk.index()]; }
    u32 node_of(ChunkId chunk) const { return chunks_.instance(chunks_[chunk]).place; }
    const CustomPosition& position_of(const Chunk& chunk) const;
    u64 ticks_of(const Chunk& chunk, u32 node) const;
    void issue(ChunkId chunk);
    void issue_node(ChunkId chunk, u32 node);
    void node_ends(ChunkId chunk, u32 node);

    const CollectiveParameters& parameters_;
    const Semantics& semantics_;
    const Actors& actors_;
    Engine& engine_;
    Transport& transport_;
    LocalBandwidth& local_;
    Chunks& chunks_;
    PhaseEnd& phases_;
    GraphProbe probe_;
    std::vector<Phase> phases_of_chunks_;
};

}  // namespace yantra
