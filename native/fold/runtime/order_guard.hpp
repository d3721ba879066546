// OrderGuard: ends a folded run where order within a tick matters to some rank of a class
// (tick_order.hpp, send_order.hpp).
#pragma once

#include <string>
#include <unordered_map>
#include <vector>

#include "collective/runtime/queues.hpp"
#include "engine/order_watcher.hpp"
#include "execution/executor.hpp"
#include "fold/runtime/folded_links.hpp"
#include "fold/runtime/send_order.hpp"
#include "fold/runtime/tick_order.hpp"

namespace yantra::inline YANTRA_RUN {

class OrderGuard final : public OrderWatcher {
public:
    OrderGuard(const Model& model, const ActorClasses& classes);
    void watch(const Engine& engine, const Executor& executor, const ChunkQueues& queues,
               FoldedLinks* links);

    const TickOrder& found() const { return ticks_; }

    void messages_come_at_once(u32 from, u32 to);

    void event_begins() override { ticks_.next_event(); }
    void actor_changes(ActorId actor) override;
    void node_ends(ActorId actor, NodeId node) override;
    void message_posted(ActorId actor, u64 bytes, u32 tag, u32 channel_end, bool sends) override;
    void collective_starts(ActorId actor, u32 communicator) override;
    void chunk_leaves(ActorId actor, u32 queue) override;
    void chunk_enters(ActorId actor, u32 queue, bool last) override;
    void phase_order_grows(ActorId actor, u32 communicator_class, u32 queue,
                           u64 latest_tick) override;
    void phase_overtakes(ActorId actor, u64 tick) override;
    void exchange_starts(ActorId actor, ChunkId chunk) override;
    void packet_handed_over(ActorId actor, ChunkId chunk, u64 ticks, u64 reduction_ticks) override;
    void barrier_met(ActorId actor, ChunkId chunk, bool looks) override;
    void chunk_sends(ActorId actor, ChunkId chunk, u64 number) override;

private:
    u64 now() const { return engine_->now(); }
    u64 slots_around(ActorId actor, NodeId node);
    std::vector<u64>& known_slots(ActorId actor, const Job& job);
    static u64 slots_of(const Job& job, u32 node);
    bool has_one_collective_at_a_time() const;

    const Model& model_;
    const Engine* engine_ = nullptr;
    const Executor* executor_ = nullptr;
    const ChunkQueues* queues_ = nullptr;
    FoldedLinks* links_ = nullptr;
    TickOrder ticks_;
    SendOrder sends_;
    bool one_at_a_time_;
    std::unordered_map<const Job*, std::vector<u64>> slots_of_job_;   // by node, as requested: or 0
    std::vector<std::vector<u64>*> slots_of_actor_;
    std::vector<std::vector<u64>> grew_in_;
};

}  // namespace yantra
