// GraphMachine: phases of sends, receives and local work with dependencies (astra-sim-semantics
// 5.6). The operations of a fabric switch are a phase that starts with its host's and takes no
// time.
#pragma once

#include <deque>
#include <vector>

#include "base/ids.hpp"
#include "collective/parameters.hpp"
#include "collective/runtime/graph_probe.hpp"
#include "collective/reduction.hpp"
#include "collective/phase_end.hpp"
#include "collective/phase_input.hpp"
#include "engine/actors.hpp"
#include "engine/component.hpp"
#include "engine/engine.hpp"
#include "engine/semantics.hpp"
#include "memory/local_bandwidth.hpp"
#include "memory/shared_bus.hpp"
#include "transport/transport.hpp"

namespace yantra::inline YANTRA_RUN {

class GraphMachine final : public Component {
public:
    // `pairs_in_order`: senders need not wait.
    GraphMachine(const CollectiveParameters& parameters, const Semantics& semantics, const Actors& actors,
                 Engine& engine, Transport& transport, SharedBus& bus, LocalBandwidth& local, PhaseEnd& phases,
                 bool pairs_in_order)
        : parameters_(parameters), semantics_(semantics),
          actors_(actors),
          engine_(engine),
          transport_(transport),
          bus_(bus),
          local_(local),
          phases_(phases),
          probe_(engine.recorder()),
          sends_end_when_gone_(!semantics.quirks.send_completes_on_arrival && !pairs_in_order) {}

    void start(ChunkId chunk, const PhaseInput& input);
    void handle_of_actor(ActorId actor, const RankEvent& event) override;
    void completed(const Completion& completion) override;

private:
    u64 ticks_of_reduction(u64 bytes) const {
        return reduction_ticks(parameters_.system.memory_bytes_per_s, semantics_.scale, bytes);
    }
    // Of an actor's events and of completions; a: the chunk, b: the operation.
    enum Kind : u32 { handed_over, done, nothing_to_do };

    struct Phase {
        const Program* program = nullptr;
        ActorId actor;
        RankId rank;                // or the number of a switch
        u32 position = 0;           // whose operations are written out
        u64 data = 0;
        u64 serial = 0;             // unique; 0 when it has ended
        u32 tag = 0;
        u32 node = none;
        bool fixed_hand_over = false;
        Place place;
        std::vector<u32> waiting;   // dependencies left, by operation
        u32 done = 0;
    };

    static constexpr u32 first_of_switches = u32{1} << 31U;

    static bool is_of_switch(ChunkId phase) { return phase.index() >= first_of_switches; }
    Phase& of(ChunkId phase) {
        return is_of_switch(phase) ? phases_of_switches_[phase.index() - first_of_switches]
                                   : phases_of_chunks_[phase.index()];
    }
    void set_up(Phase& phase, const PhaseInput& input, u32 position, RankId as);
    void start_switches(const GraphProgram& graph, const PhaseInput& input);
    void run_roots(ChunkId phase);
    RankId peer_of(const Phase& phase, u32 position) const;
    const GraphOp& op_of(const Phase& phase, u32 op) const;
    void run(ChunkId chunk, u32 op);
    void run_local(ChunkId chunk, u32 op);
    bool goes_back(const Phase& phase, const GraphOp& op) const;
    void hand_over_ends(ChunkId chunk, u32 op);
    void op_ends(ChunkId chunk, u32 op);

    const CollectiveParameters& parameters_;
    const Semantics& semantics_;
    const Actors& actors_;
    Engine& engine_;
    Transport& transport_;
    SharedBus& bus_;
    LocalBandwidth& local_;
    PhaseEnd& phases_;
    GraphProbe probe_;
    bool sends_end_when_gone_;   // as in workloads; else a send ends at once, as upstream's
    std::vector<Phase> phases_of_chunks_;
    std::deque<Phase> phases_of_switches_;
    std::vector<u32> free_phases_;   // of switches
    u64 serials_ = 0;
};

}  // namespace yantra
