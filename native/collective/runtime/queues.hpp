// ChunkQueues: where an actor's chunks wait for a dimension. The intra-dimension policy orders
// them; members start phases in one order, unless the quirk phases-as-ready applies
// (astra-sim-semantics 4.6, 4.7).
#pragma once

#include <vector>

#include "base/ids.hpp"
#include "collective/parameters.hpp"
#include "collective/runtime/chunk_line.hpp"
#include "collective/runtime/chunks.hpp"
#include "collective/runtime/queue_probe.hpp"
#include "engine/actors.hpp"
#include "engine/engine.hpp"
#include "engine/order_watcher.hpp"
#include "engine/semantics.hpp"

namespace yantra::inline YANTRA_RUN {

class ChunkQueues {
public:
    struct Queue {
        ChunkLine chunks;              // those that run first
        u64 next_start = 0;            // of the phase to start next, in the communicator's order
        u32 running = 0;
    };
    struct PhaseStart {
        u64 chunk;                     // its number in the communicator
        u32 phase;
        u32 members_left;
        u64 tick;                      // at which the first member started it
    };
    struct PhaseOrder {
        std::vector<PhaseStart> coming;   // those that some member has yet to start
        u64 passed = 0;
    };
    struct State {
        IdVector<ActorId, std::vector<Queue>> queues;
        std::vector<std::vector<PhaseOrder>> orders;   // by communicator class and queue of a set
    };

    ChunkQueues(const CollectiveParameters& parameters, const Semantics& semantics, const Actors& actors,
                Engine& engine, Chunks& chunks, PhaseWatcher* watcher);

    void enter(ChunkId chunk);
    void leave(ActorId actor, u32 queue, ChunkId chunk) {
        if (watcher_ != nullptr) [[unlikely]] {
            watcher_->chunk_leaves(actor, queue);
        }
        state_.queues[actor][queue].chunks.erase(chunk);
    }
    void place_free(ActorId actor, u32 queue) {
        --state_.queues[actor][queue].running;
        probe_.place_free(actor, queue);
    }

    bool may_start(ActorId actor, u32 queue) const {
        const Queue& q = state_.queues[actor][queue];
        return q.running < most_running_ && q.running < q.chunks.size();
    }
    // None if its turn has yet to come. Call `starts` and, once under way, `has_started`.
    // Precondition: may_start().
    ChunkId next(ActorId actor, u32 queue);
    void starts(ActorId actor, u32 queue, ChunkId chunk) {
        probe_.starts(actor, queue, chunk, engine_.now(), chunks_.instance(chunks_[chunk]).place);
    }
    void has_started(ActorId actor, u32 queue) { ++state_.queues[actor][queue].running; }

    bool waits(ActorId actor, u32 queue) const {
        const Queue& q = state_.queues[actor][queue];
        return q.chunks.size() > q.running;
    }
    u32 queues_per_set() const { return queues_per_set_; }

    State& state() { return state_; }

private:
    bool goes_last(const ChunkLine& queue, const Chunk& chunk) const;
    std::size_t insertion_point(const ChunkLine& queue, const Chunk& chunk) const;
    std::size_t priority_point(const ChunkLine& queue, const Chunk& chunk) const;
    std::size_t policy_point(const ChunkLine& queue, const Chunk& chunk) const;
    std::size_t alternating_point(const ChunkLine& queue, const Chunk& chunk) const;
    u64 largest_side(const Chunk& chunk) const;
    bool move_next_to_front(ActorId actor, Queue& queue);
    PhaseStart& phase_to_start(const Chunk& head, Queue& queue, PhaseOrder& order, u32 of_class);
    u64 number_of(const Chunk& chunk) const {
        return chunk.id - parameters_.communicators[chunk.communicator].first_chunk;
    }

    const CollectiveParameters& parameters_;
    const Semantics& semantics_;
    const Actors& actors_;
    Engine& engine_;
    Chunks& chunks_;
    PhaseWatcher* watcher_;
    u32 queues_per_set_;
    u32 most_running_;
    QueueProbe probe_;
    State state_;
};

}  // namespace yantra
