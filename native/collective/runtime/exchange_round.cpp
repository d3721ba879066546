// A round of ranks in step: from arrival over hand-over and reduction to the send, in one loop.
//
// Where all ranks take equally long for both, and nothing else happens until then, these need no
// events: the clock moves on, and each rank does all of it at its turn. "Nothing else": the tick
// has only such arrivals, the ticks up to the send are empty, and no rank comes twice. Trade-off:
// all ranks are checked first; one that differs sends all to exchange_in_step.cpp.
#include <span>

#include "collective/runtime/exchange.hpp"
#include "engine/event_row.hpp"

namespace yantra {

[[gnu::always_inline]] inline bool Exchange::goes_like(const Packets& first, Packets& x, u32 phase, u32 slot) {
    const i32* const counters = x.counters == none ? x.near : state_.counters.data() + x.counters;
    if (x.started != phase || counters[slot] >= 0 || x.hand_over_ticks != first.hand_over_ticks) {
        return false;
    }
    know_reduction(x, x.injected.run);
    if (x.reduce_ticks != first.reduce_ticks) {
        return false;
    }
    const bool has_arrived = x.from_counter == slot ? counters[slot] >= 0 : counters[x.from_counter] > 0;
    return !has_arrived && sends_usually(x);
}

// None twice. Over links, messages have one size and count at one counter.
bool Exchange::go_alike(std::span<const u32> chunks, u32 phase, u32 slot) {
    Packets* const packets = state_.chunks.data();
    const Packets& first = packets[chunks[0]];
    const bool over_links = first.way.use == nullptr;
    seen_.resize(actors_.count());
    const u64 round = ++round_;
    for (u32 at = 0; at < chunks.size(); ++at) {
        fetch_ahead(packets, chunks, at, static_cast<u32>(chunks.size()));
        Packets& x = packets[chunks[at]];
        const bool is_one_kind = x.send_bytes == first.send_bytes && x.to_mark == first.to_mark;
        const bool is_on_way = over_links ? x.link != none && is_one_kind : x.way.use != nullptr;
        Seen& seen = seen_[x.actor.index()];
        if (!is_on_way || seen.round == round || !goes_like(first, x, phase, slot)) [[unlikely]] {
            return false;
        }
        seen = {round, at};
    }
    return true;
}

bool Exchange::go_round(const EventRun& run) {
    EventQueue& queue = engine_.queue;
    const u32 phase = run.first_kind.kind() >> counter_bits;
    const u32 slot = run.first_kind.kind() & counter_mask;
    Packets& first = of(ChunkId(run.index(0)));
    if (first.started != phase || first.hand_over_ticks == 0) {
        return false;
    }
    know_reduction(first, first.injected.run);
    const bool reduces = first.reduce_ticks != not_reduced;
    if (reduces && (first.reduce_ticks == shares_memory || first.reduce_ticks == 0)) {
        return false;
    }
    const u64 ticks = first.hand_over_ticks + (reduces ? first.reduce_ticks : 0);
    if (!queue.is_idle_behind_tick(ticks)) {
        return false;
    }
    std::span<const u32> chunks(run.list, run.list == nullptr ? 0 : run.count);
    if (run.list == nullptr || !queue.tick_is_over()) {
        of_round_.resize(run.count);
        run.write_indices(of_round_.data());
        if (!queue.rest_of_tick(run.first_kind, of_round_)) {
            return false;
        }
        chunks = of_round_;
    }
    if (!go_alike(chunks, phase, slot)) {
        return false;
    }
    queue.take_rest_of_tick();
    const u64 of_rank = reduces ? 2 : 1;
    chunks = pass_rounds(chunks, {run.first_kind.kind(), ticks, of_rank + 1});
    queue.pass(ticks, chunks.size() * of_rank);
    if (first.way.use == nullptr) {
        round_over_links(chunks, slot);
    } else {
        round_over_ways(chunks, slot);
    }
    return true;
}

[[gnu::always_inline]] inline void Exchange::goes_on(Packets& x, u32 slot) {
    if (x.from_counter != slot) {
        ++counter(x, slot);
        --counter(x, x.from_counter);
    }
    ++x.receipts;
    --x.left;
    x.injected.advance(*x.machine);
    sent_one(x);
}

void Exchange::round_over_ways(std::span<const u32> chunks, u32 slot) {
    Packets* const packets = state_.chunks.data();
    const u64 now = engine_.now();
    EventRow row(engine_.queue, static_cast<u32>(chunks.size()));
    u64 messages = 0;
    for (u32 at = 0; at < chunks.size(); ++at) {
        fetch_ahead(packets, chunks, at, static_cast<u32>(chunks.size()));
        Packets& x = packets[chunks[at]];
        messages += x.ranks;
        x.way.use->bytes += x.send_bytes * x.ranks;
        x.way.use->messages += x.ranks;
        row.schedule(now + x.way.ticks, {Owner::exchange, x.to_mark}, x.to_chunk.index());
        goes_on(x, slot);
    }
    row.flush();
    transport_.count(messages);
}

void Exchange::round_over_links(std::span<const u32> chunks, u32 slot) {
    Packets* const packets = state_.chunks.data();
    const u64 bytes = packets[chunks[0]].send_bytes;
    over_links_.clear();
    for (u32 at = 0; at < chunks.size(); ++at) {
        fetch_ahead(packets, chunks, at, static_cast<u32>(chunks.size()));
        Packets& x = packets[chunks[at]];
        over_links_.push_back(over_link(x, {{Owner::exchange, x.to_mark}, x.to_chunk.index()}));
        goes_on(x, slot);
    }
    transport_.pass_round(over_links_, bytes);
}

}  // namespace yantra
