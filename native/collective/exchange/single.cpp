#include "collective/exchange/single.hpp"

#include <type_traits>

#include "base/ensure.hpp"

namespace yantra::exchange {

inline void Single::receive(ChunkId chunk, Packets& x) {
    x.receive();
    if (x.counts_receipts() && x.receipts <= x.program->barrier_receipts) {
        probe_.packet_waits(chunk);
    }
    hand_overs_.begin(chunk, x);
    if (watcher_ != nullptr && x.counts_receipts()) [[unlikely]] {
        watcher_->barrier_met(x.actor, chunk, false);
    }
}

[[gnu::always_inline]] inline bool Single::send(ChunkId chunk, Packets& x) {
    probe_.sends(x.node);
    bool has_arrived = false;
    if (peers_.are_counted(x.table)) {
        has_arrived = peers_.send(chunk, x, watcher_);
    } else {
        const RankId here(x.rank);
        const RankId to(x.to_rank);
        const RankId from(x.from_rank);
        transport_.send({here.index(), to.index()}, here, to, x.send_bytes, x.tag, {}, x.order());
        transport_.receive({from.index(), here.index()}, here, from, x.send_bytes, x.tag,
                           {{Owner::exchange, received}, chunk.index(), none});
    }
    peers_.went(x, x.send());
    return has_arrived;
}

inline bool Single::receives_at_once(const Packets& x) const {
    const bool is_recorded = !std::is_empty_v<Trail>;
    return !is_recorded && watcher_ == nullptr && x.left > 0 && x.hand_over_ticks > 0 && !x.by_bus &&
           engine_.is_last_of_tick();
}

[[gnu::always_inline]] inline void Single::is_free(ChunkId chunk, Packets& x) {
    const bool is_at_barrier = x.is_at_barrier();
    const Follows follows = x.is_free();
    if (follows.sends == 0) {
        probe_.packet_waits(chunk);
    }
    if (is_at_barrier) [[unlikely]] {
        looks(chunk, x);
    }
    for (u32 sent = 0; sent < follows.sends; ++sent) {
        if (!send(chunk, x)) {
            continue;
        }
        if (sent + 1 == follows.sends && receives_at_once(x)) [[likely]] {
            engine_.queue.pass_event();
            receive(chunk, x);
            return;
        }
        has_message(chunk);
    }
    if (follows.ends) {
        end(chunk, x);
    }
}

[[gnu::noinline]] void Single::looks(ChunkId chunk, const Packets& x) {
    if (watcher_ != nullptr && x.counts_receipts()) [[unlikely]] {
        watcher_->barrier_met(x.actor, chunk, true);
    }
    if (!x.waits_at_barrier()) {
        probe_.barrier_passed(chunk, x.node, engine_.now());
    }
}

void Single::end(ChunkId chunk, Packets& x) {
    probe_.last_packet(chunk, x.node, engine_.now());
    peers_.close(x);
    phase_ended = true;
    phases_.phase_ends(chunk);
}

void Single::start(ChunkId chunk, Packets& x) {
    if (watcher_ != nullptr) [[unlikely]] {
        watcher_->exchange_starts(x.actor, chunk);
    }
    for (u64 left = x.program->window; left > 0; --left) {
        hand_overs_.begin(chunk, x);
    }
}

void Single::handle(const Event& event) {
    ChunkId chunk(event.index);
    u32 mark = event.kind.kind();
    if (mark == Mark::receive_ready) {
        probe_.receive_ready(event, peers_.of(chunk).node);
        receive(chunk, peers_.of(chunk));
        return;
    }
    if (Mark::is_of_chunk(mark)) [[likely]] {
        probe_.arrived(event, peers_.of(chunk).node);
    } else {
        probe_.arrived_early(event);
        if (!peers_.comes(event.index, chunk, mark)) {
            return;
        }
    }
    if (peers_.arrives(chunk, mark)) {
        receive(chunk, peers_.of(chunk));
    }
}

[[gnu::always_inline]] inline void Single::step(const RankEvent& event) {
    const ChunkId chunk(event.a);
    Packets& x = peers_.of(chunk);
    if (event.kind.kind() == handed_over) {
        probe_.handed_over(event, engine_.now(), x.node);
        if (!hand_overs_.end(chunk, x, event.b)) {
            return;
        }
    } else {
        probe_.reduced(event, engine_.now(), x.node);
    }
    is_free(chunk, x);
}

void Single::handle(const RankEvent& event) { step(event); }

void Single::handle_first(ActorId actor) { step(engine_.of_ranks.begin(actor)); }

void Single::completed(const Completion& completion) {
    const ChunkId chunk(completion.a);
    Packets& x = peers_.of(chunk);
    switch (static_cast<Kind>(completion.kind.kind())) {
        case handed_over:
            if (hand_overs_.end(chunk, x, completion.b)) {
                is_free_apart(chunk);
            }
            return;
        case reduced:
            is_free_apart(chunk);
            return;
        case received:
            receive(chunk, x);
            return;
    }
    fail("a completion that the exchange does not know");
}

}  // namespace yantra::exchange
