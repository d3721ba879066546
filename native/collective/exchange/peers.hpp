// Peers: whom the packets of chunks go to, and what has come from whom: arrivals less receives
// posted, by peer (transport/peer_tables.hpp for early ones).
#pragma once

#include "collective/exchange/packets.hpp"
#include "collective/exchange/probe.hpp"
#include "engine/actors.hpp"
#include "engine/engine.hpp"
#include "transport/peer_tables.hpp"
#include "transport/transport.hpp"

namespace yantra::exchange::inline YANTRA_RUN {

class Peers {
public:
    Peers(const Actors& actors, Engine& engine, Transport& transport, PeerTables& tables, Probe& probe)
        : actors_(actors), engine_(engine), transport_(transport), tables_(tables), probe_(probe),
          ways_are_alike_(transport.ways_are_alike()) {}

    Packets& of(ChunkId chunk) { return state_.chunks[chunk.index()]; }
    Packets* all() { return state_.chunks.data(); }
    Packets& made(ChunkId chunk);
    bool are_counted(u32 table) const { return table != none && !transport_.is_rendezvous(); }
    i32& counter(Packets& x, u32 slot) {
        return x.counters == none ? x.near[slot] : state_.counters[x.counters + slot];
    }

    // Before the phase, and after it.
    void open(ChunkId chunk, Packets& x);
    void close(Packets& x);
    // Of an early one: whether its chunk is there; that and its mark.
    bool arrives(ChunkId chunk, u32 mark);
    bool comes(u32 early, ChunkId& chunk, u32& mark);

    // Whom the next packet goes to.
    void find(Packets& x);
    void find_chunk(Packets& x) { x.to_chunk = tables_.chunk(x.table, x.to_member); }
    Notice notice(Packets& x);
    // A packet went; `is_of_another_run`: the next.
    void went(Packets& x, bool is_of_another_run) {
        if (is_of_another_run && !goes_like_before(x.run(x.sent.run))) {
            find(x);
        }
    }
    // Where its receives are counted. Returns whether the posted one has its message.
    bool send(ChunkId chunk, Packets& x, PacketWatcher* watcher);

    State& state() { return state_; }
    const State& state() const { return state_; }

private:
    // Not for the first run.
    static bool goes_like_before(const Run& run) {
        const Run& before = (&run)[-1];
        return run.out == before.out && run.into == before.into && run.by_xor == before.by_xor &&
               run.bytes == before.bytes;
    }
    void leave(Packets& x, Notice arrived);

    const Actors& actors_;
    Engine& engine_;
    Transport& transport_;
    PeerTables& tables_;
    Probe& probe_;
    const bool ways_are_alike_;
    State state_;
};

inline Notice Peers::notice(Packets& x) {
    if (x.to_chunk.is_none()) {
        find_chunk(x);
    }
    if (x.to_chunk.is_none()) {
        return {{Owner::exchange, Mark::early_arrival}, tables_.keep_early({x.table, x.to_member, x.to_mark, none})};
    }
    return x.notice();
}

inline bool Peers::send(ChunkId chunk, Packets& x, PacketWatcher* watcher) {
    const Notice arrived = notice(x);
    probe_.message_sent(x.send_bytes, x.to_rank, x.tag);
    if (watcher != nullptr) [[unlikely]] {
        watcher->chunk_sends(x.actor, chunk, x.number);
    }
    leave(x, arrived);
    const bool has_arrived = is_posted(counter(x, x.from_counter));
    probe_.receive_posted(chunk, x.counters, x.from_counter, has_arrived);
    return has_arrived;
}

inline void Peers::leave(Packets& x, Notice arrived) {
    if (x.way.use == nullptr) {
        if (x.link != none) {
            transport_.pass_over(x.link, x.message(), arrived);
        } else {
            transport_.pass(x.message(), arrived);
        }
        return;
    }
    transport_.count(x.ranks);
    x.way.use->bytes += x.send_bytes * x.ranks;
    x.way.use->messages += x.ranks;
    u64 tick = engine_.now() + x.way.ticks;
    if (x.program->returns) [[unlikely]] {
        tick = in_order(state_.arrivals[x.counters + x.peers().counter_of_to()], tick);
    }
    engine_.queue.schedule(tick, arrived);
}

inline bool Peers::arrives(ChunkId chunk, u32 mark) {
    Packets& x = of(chunk);
    if (x.started != Mark::phase(mark)) {
        x.early = tables_.keep_early({none, none, mark, x.early});
        probe_.kept_early(x.early);
        return false;
    }
    const u32 slot = Mark::counter(mark);
    const bool is_awaited = exchange::arrives(counter(x, slot));
    probe_.counted(chunk, x.counters, slot, is_awaited, x.node, engine_.now());
    return is_awaited;
}

}  // namespace yantra::exchange
