// HandOvers: packets with the memory agent, and the reductions after that.
#pragma once

#include "collective/exchange/packets.hpp"
#include "collective/parameters.hpp"
#include "collective/reduction.hpp"
#include "engine/engine.hpp"
#include "engine/order_watcher.hpp"
#include "engine/semantics.hpp"
#include "memory/local_bandwidth.hpp"
#include "memory/shared_bus.hpp"

namespace yantra::exchange::inline YANTRA_RUN {

class HandOvers {
public:
    HandOvers(const CollectiveParameters& parameters, const Semantics& semantics, Engine& engine, SharedBus& bus,
              LocalBandwidth& local, PacketWatcher* watcher)
        : parameters_(parameters), semantics_(semantics), engine_(engine), bus_(bus), local_(local), watcher_(watcher) {}

    // Without crossing the shared bus.
    u64 ticks(bool fixed) const {
        return fixed ? parameters_.system.group_hand_over : parameters_.system.endpoint_delay;
    }
    bool cross_bus() const { return parameters_.system.bus.enabled; }

    // Of the next packet.
    void begin(ChunkId chunk, Packets& x) {
        if (watcher_ != nullptr) [[unlikely]] {
            tell(chunk, x);
        }
        const u32 run = x.hand_over();
        if (x.by_bus) [[unlikely]] {
            begin_by_bus(chunk, x, run);
            return;
        }
        engine_.of_ranks.schedule(x.actor, x.hand_over_ticks, {Owner::exchange, handed_over}, chunk.index(), run);
    }
    void go_on(ChunkId chunk, const Packets& x, u32 run, u64 ticks, bool is_reduced) {
        engine_.of_ranks.schedule(x.actor, ticks, {Owner::exchange, is_reduced ? reduced : handed_over}, chunk.index(),
                                  run);
    }
    // False if it is reduced first, an event even if it takes no time.
    bool end(ChunkId chunk, Packets& x, u32 run) {
        know_reduction(x, run);
        if (x.reduce_ticks < shares_memory) {
            engine_.of_ranks.schedule(x.actor, x.reduce_ticks, {Owner::exchange, reduced}, chunk.index(), run);
        } else if (x.reduce_ticks == shares_memory) [[unlikely]] {
            reduce_beside_others(chunk, x, run);
        }
        return x.reduce_ticks == not_reduced;
    }
    [[gnu::always_inline]] void know_reduction(Packets& x, u32 run) {
        if (x.reduce_run != run) [[unlikely]] {
            change_reduction(x, run);
        }
    }

private:
    u64 reduction(u64 bytes) const {
        return reduction_ticks(parameters_.system.memory_bytes_per_s, semantics_.scale, bytes);
    }
    void tell(ChunkId chunk, const Packets& x);
    void begin_by_bus(ChunkId chunk, const Packets& x, u32 run);
    void reduce_beside_others(ChunkId chunk, const Packets& x, u32 run);
    [[gnu::noinline]] void change_reduction(Packets& x, u32 run);
    void settle_reduction(Packets& x, u32 run);

    const CollectiveParameters& parameters_;
    const Semantics& semantics_;
    Engine& engine_;
    SharedBus& bus_;
    LocalBandwidth& local_;
    PacketWatcher* watcher_;
    struct Reduction {
        const Run* packet = nullptr;
        u64 data = 0;
        u64 ticks = not_reduced;
    };
    Reduction reduction_;
};

}  // namespace yantra::exchange
