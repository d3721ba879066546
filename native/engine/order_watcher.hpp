// OrderWatcher: hears what happens to an actor in one tick where order could matter, in folded runs
// (fold/runtime/order_guard.hpp).
#pragma once

#include "base/ids.hpp"

namespace yantra {

class PhaseWatcher {
public:
    virtual void collective_starts(ActorId actor, u32 communicator) = 0;
    virtual void chunk_leaves(ActorId actor, u32 queue) = 0;
    // `last`: no chunk is behind it.
    virtual void chunk_enters(ActorId actor, u32 queue, bool last) = 0;
    // `latest_tick`: of the phase started first before this one, if some member has yet to start
    // that.
    virtual void phase_order_grows(ActorId actor, u32 communicator_class, u32 queue,
                                   u64 latest_tick) = 0;
    virtual void phase_overtakes(ActorId actor, u64 tick) = 0;

protected:
    ~PhaseWatcher() = default;
};

class PacketWatcher {
public:
    static constexpr u64 not_reduced = ~u64{0};

    virtual void exchange_starts(ActorId actor, ChunkId chunk) = 0;
    virtual void packet_handed_over(ActorId actor, ChunkId chunk, u64 ticks, u64 reduction_ticks) = 0;
    virtual void barrier_met(ActorId actor, ChunkId chunk, bool looks) = 0;
    virtual void chunk_sends(ActorId actor, ChunkId chunk, u64 number) = 0;

protected:
    ~PacketWatcher() = default;
};

class OrderWatcher : public PhaseWatcher, public PacketWatcher {
public:
    virtual void event_begins() = 0;
    virtual void actor_changes(ActorId actor) = 0;

    virtual void node_ends(ActorId actor, NodeId node) = 0;
    virtual void message_posted(ActorId actor, u64 bytes, u32 tag, u32 channel_end, bool sends) = 0;

protected:
    ~OrderWatcher() = default;
};

}  // namespace yantra
