#include "collective/exchange/hand_overs.hpp"

namespace yantra::exchange {

void HandOvers::tell(ChunkId chunk, const Packets& x) {
    const Run& packet = x.run(x.handed_over.run);
    watcher_->packet_handed_over(
        x.actor, chunk, x.hand_over_ticks,
        packet.reduces() ? reduction(packet.reduce.of(x.data, x.round_up)) : PacketWatcher::not_reduced);
}

// The bus charges the reduction. Upstream charges it again on delivery.
void HandOvers::begin_by_bus(ChunkId chunk, const Packets& x, u32 run) {
    const Run& packet = x.run(run);
    const Kind then = semantics_.quirks.bus_charges_reduction_twice ? handed_over : reduced;
    bus_.cross({.actor = x.actor,
                .from_memory = packet.from_memory,
                .reduces = packet.reduces(),
                .back = packet.back,
                .bytes = packet.bytes.of(x.data, x.round_up),
                .node = x.node,
                .then = {{Owner::exchange, then}, chunk.index(), run}});
}

void HandOvers::change_reduction(Packets& x, u32 run) {
    const bool is_alike = x.reduce_run != none && x.run(run).reduce == x.run(x.reduce_run).reduce;
    x.reduce_run = run;
    if (!is_alike) {
        settle_reduction(x, run);
    }
}

void HandOvers::settle_reduction(Packets& x, u32 run) {
    const Run& packet = x.run(run);   // of one program, which says how it rounds
    if (!packet.reduces()) {
        x.reduce_ticks = not_reduced;
    } else if (local_.enabled()) [[unlikely]] {
        x.reduce_ticks = shares_memory;
    } else {
        if (reduction_.packet != &packet || reduction_.data != x.data) {
            reduction_ = {&packet, x.data, reduction(packet.reduce.of(x.data, x.round_up))};
        }
        x.reduce_ticks = reduction_.ticks;
    }
}

[[gnu::noinline]] void HandOvers::reduce_beside_others(ChunkId chunk, const Packets& x, u32 run) {
    const u64 bytes = x.run(run).reduce.of(x.data, x.round_up);
    local_.schedule(x.actor, reduction(bytes), reduction_traffic(bytes), {Owner::exchange, reduced}, chunk.index());
}

}  // namespace yantra::exchange
