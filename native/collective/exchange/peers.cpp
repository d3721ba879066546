#include "collective/exchange/peers.hpp"

#include "base/ensure.hpp"

namespace yantra::exchange {

Packets& Peers::made(ChunkId chunk) {
    if (state_.chunks.size() <= chunk.index()) {
        state_.chunks.resize(chunk.index() + 1);
    }
    return of(chunk);
}

void Peers::open(ChunkId chunk, Packets& x) {
    const u32 size = x.place.size;
    ensure(size <= Mark::most_counters, "a group too large for its arrival counters");
    ensure(x.phase < Mark::most_phases, "more phases than an event tells apart");
    if (!x.program->neighbours_only) {
        if (state_.free_counters.size() <= size) {
            state_.free_counters.resize(size + 1);
        }
        if (state_.free_counters[size].empty()) {
            x.counters = static_cast<u32>(state_.counters.size());
            state_.counters.resize(state_.counters.size() + size);
        } else {
            x.counters = state_.free_counters[size].back();
            state_.free_counters[size].pop_back();
        }
        if (x.program->returns) {
            state_.arrivals.resize(state_.counters.size());
            std::fill_n(state_.arrivals.begin() + x.counters, size, u64{0});
        }
    }
    x.started = x.phase;
    u32* link = &x.early;
    while (*link != none) {
        const u32 at = *link;
        const PeerTables::Early arrival = tables_.early(at);
        if (Mark::phase(arrival.mark) == x.started) {
            const u32 slot = Mark::counter(arrival.mark);
            ++counter(x, slot);
            probe_.early_counted(chunk, x.counters, slot, at);
            *link = arrival.next;
            tables_.forget_early(at);
        } else {
            link = &tables_.early(at).next;
        }
    }
}

void Peers::close(Packets& x) {
    x.started = none;
    if (x.counters != none) {
        state_.free_counters[x.place.size].push_back(x.counters);
    }
}

bool Peers::comes(u32 early, ChunkId& chunk, u32& mark) {
    probe_.kept_early(early);
    const PeerTables::Early arrival = tables_.early(early);
    chunk = tables_.chunk(arrival.table, arrival.member);
    mark = arrival.mark;
    if (chunk.is_none()) {
        tables_.wait_for_member(early);
        return false;
    }
    probe_.receiver_joins(early, of(chunk).node);
    tables_.forget_early(early);
    return true;
}

void Peers::find(Packets& x) {
    const Run& run = x.run(x.sent.run);
    const bool is_as_large = x.sent.run > 0 && run.bytes == (&run)[-1].bytes;
    if (!is_as_large) {
        x.send_bytes = run.bytes.of(x.data, x.round_up);
    }
    const PeersOf peers = x.peers();
    const u32 to = peers.to();
    x.to_rank = x.place.rank_at(to);
    if (!are_counted(x.table)) {
        x.from_rank = x.place.rank_at(peers.from());
        return;
    }
    x.to_member = actors_.member(
        tables_.communicator_class(x.table), actors_.of(RankId(x.to_rank)),
        [&] { return x.member + (to - x.place.position) * x.place.index_stride; });
    find_chunk(x);
    x.to_mark = Mark::of(x.phase, peers.counter_there());
    x.from_counter = peers.counter_of_from();
    if (is_as_large && ways_are_alike_) {
        return;
    }
    x.way = transport_.fixed_way({RankId(x.rank), RankId(x.to_rank), x.send_bytes});
    if (x.way.ticks == 0 && !x.program->returns) [[unlikely]] {
        x.way = {};   // what takes no time comes in the present tick, between other events
    }
    x.link = x.way.use == nullptr ? transport_.only_link(RankId(x.rank), RankId(x.to_rank)) : none;
}

}  // namespace yantra::exchange
