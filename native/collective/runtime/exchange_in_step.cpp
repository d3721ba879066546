// The exchange of ranks in step: loops over the events of a run.
//
// Most packets begin and end nothing. For them these loops repeat exchange.cpp without what is
// constant, and queue their events as runs; any other event ends the loop and is handled singly.
// Trade-off: the usual path exists twice. Recorded runs have no runs of events, so there is no
// probe here; there must be no watcher either.
#include "base/ensure.hpp"
#include "collective/runtime/exchange.hpp"
#include "engine/event_row.hpp"

namespace yantra {

namespace {

constexpr u32 few = 4;   // events; if a loop handles no more, the ranks are not in step

}  // namespace

u32 Exchange::handle_arrivals(const EventRun& run, u32 at, u32 until) {
    constexpr EventKind first_early(Owner::exchange, early_arrival);
    bool in_step = watcher_ == nullptr && !parameters_.system.bus.enabled;
    const bool is_one_kind = run.kind_stride == 0;
    const bool are_of_chunks = run.first_kind.packed() < first_early.packed();   // an early one has no chunk yet
    if (in_step && is_one_kind && are_of_chunks && at == 0 && until == run.count && until > few && go_round(run)) {
        return until;
    }
    for (; at < until; ++at) {
        if (run.kind(at).packed() >= first_early.packed()) [[unlikely]] {
            return at;
        }
        if (in_step && until - at > few) {
            const u32 from = at;
            at = is_one_kind ? arrive_in_step<true>(run, at, until) : arrive_in_step<false>(run, at, until);
            if (at == until) {
                return at;
            }
            in_step = at - from > few;
        }
        handle(run.event(at));
    }
    return at;
}

// Counted at the first's counter, or each at its own.
template <bool is_one_kind>
u32 Exchange::arrive_in_step(const EventRun& run, u32 at, u32 until) {
    RankEvents& events = engine_.of_ranks;
    Packets* const packets = state_.chunks.data();
    const u64 now = engine_.now();
    u32 mark = run.first_kind.kind();
    EventRow row(engine_.queue, until - at);
    const EventRun::Indices chunks = run.indices();
    for (; at < until; ++at) {
        const u32 chunk = chunks[at];
        fetch_ahead(packets, chunks, at, until);
        Packets& x = packets[chunk];
        if constexpr (!is_one_kind) {
            mark = run.kind(at).kind();
        }
        if (x.started != mark >> counter_bits) [[unlikely]] {
            break;
        }
        i32& arrived = counter(x, mark & counter_mask);
        if (arrived >= 0) [[unlikely]] {
            ++arrived;
            continue;
        }
        const u64 tick = now + x.hand_over_ticks;
        if (tick == now) [[unlikely]] {
            break;
        }
        const u32 batch =
            events.put(x.actor, tick, {Owner::exchange, handed_over}, chunk, x.injected.run);
        ++arrived;
        ++x.receipts;
        ++x.pending;
        x.injected.advance(*x.machine);
        if (batch != none) [[likely]] {
            row.schedule(tick, RankEvents::batch_begins, batch);
        }
    }
    row.flush();
    return at;
}

u32 Exchange::handle_of_ranks(const EventRun& run, u32 at, u32 until) {
    RankEvents& events = engine_.of_ranks;
    bool in_step = true;
    for (; at < until && !engine_.paused; ++at) {
        while (in_step && until - at > few) {
            const u32 from = at;
            at = step_in_step(run, at, until);
            in_step = at - from > few;
        }
        if (at == until || !events.begins_with(run.index(at), Owner::exchange)) {
            return at;
        }
        phase_ended_ = false;
        step(events.begin(ActorId(run.index(at))));
        if (!events.is_over()) [[unlikely]] {
            return at;
        }
        in_step = in_step || phase_ended_;
    }
    return at;
}

inline u32 Exchange::step_in_step(const EventRun& run, u32 at, u32 until) {
    const RankEvent* const event = engine_.of_ranks.only_event(run.index(at));
    if (event == nullptr || event->kind.owner() != Owner::exchange) {
        return at;
    }
    Packets& x = of(ChunkId(event->a));
    if (event->kind.kind() == handed_over) {
        know_reduction(x, event->b);
        if (x.reduce_ticks < shares_memory) {
            return reduce_in_step(run, at, until);
        }
    }
    if (!sends_usually(x)) {
        return at;
    }
    return x.way.use != nullptr ? send_in_step(run, at, until) : send_over_links(run, at, until);
}

u32 Exchange::reduce_in_step(const EventRun& run, u32 at, u32 until) {
    constexpr EventKind is_handed_over(Owner::exchange, handed_over);
    RankEvents& events = engine_.of_ranks;
    Packets* const packets = state_.chunks.data();
    const u64 now = engine_.now();
    EventRow row(engine_.queue, until - at);
    const EventRun::Indices batches = run.indices();
    for (; at < until; ++at) {
        const u32 batch = batches[at];
        const RankEvent* const event = events.only_event(batch);
        if (event == nullptr || event->kind != is_handed_over) {
            break;
        }
        const u32 chunk = event->a;
        Packets& x = packets[chunk];
        know_reduction(x, event->b);
        const u64 ticks = x.reduce_ticks;
        if (ticks >= shares_memory || ticks == 0) {
            break;
        }
        const u32 later =
            events.put(events.take_only(batch), now + ticks, {Owner::exchange, reduced}, chunk);
        if (later != none) [[likely]] {
            row.schedule(now + ticks, RankEvents::batch_begins, later);
        }
    }
    row.flush();
    return at;
}

// If only an arrival and a receive follow; else null.
[[gnu::always_inline]] inline Exchange::Packets* Exchange::sends_in_step(const RankEvent* event) {
    constexpr EventKind is_handed_over(Owner::exchange, handed_over);
    constexpr EventKind is_reduced(Owner::exchange, reduced);
    if (event == nullptr || (event->kind != is_reduced && event->kind != is_handed_over)) {
        return nullptr;
    }
    Packets& x = state_.chunks[event->a];
    if (event->kind == is_handed_over) {
        know_reduction(x, event->b);
        if (x.reduce_ticks != not_reduced) {
            return nullptr;
        }
    }
    return sends_usually(x) ? &x : nullptr;
}

inline void Exchange::sent_in_step(u32 batch, Packets& x) {
    engine_.of_ranks.take_only(batch);
    --x.left;
    --x.pending;
    sent_one(x);
}

u32 Exchange::send_in_step(const EventRun& run, u32 at, u32 until) {
    RankEvents& events = engine_.of_ranks;
    const u64 now = engine_.now();
    EventRow row(engine_.queue, until - at);
    u64 messages = 0;
    const EventRun::Indices batches = run.indices();
    for (; at < until; ++at) {
        const u32 batch = batches[at];
        Packets* const sends = sends_in_step(events.only_event(batch));
        if (sends == nullptr) {
            break;
        }
        Packets& x = *sends;
        LinkUse* const use = x.way.use;
        i32& arrived = counter(x, x.from_counter);
        if (use == nullptr || arrived > 0) {
            break;
        }
        --arrived;
        messages += x.ranks;
        use->bytes += x.send_bytes * x.ranks;
        use->messages += x.ranks;
        row.schedule(now + x.way.ticks, {Owner::exchange, x.to_mark}, x.to_chunk.index());
        sent_in_step(batch, x);
    }
    row.flush();
    transport_.count(messages);
    return at;
}

// Over links where messages may wait. All of one size.
u32 Exchange::send_over_links(const EventRun& run, u32 at, u32 until) {
    RankEvents& events = engine_.of_ranks;
    u64 bytes = 0;
    over_links_.clear();
    const EventRun::Indices batches = run.indices();
    for (; at < until; ++at) {
        const u32 batch = batches[at];
        Packets* const sends = sends_in_step(events.only_event(batch));
        if (sends == nullptr) {
            break;
        }
        Packets& x = *sends;
        if (over_links_.empty()) {
            bytes = x.send_bytes;
        }
        i32& arrived = counter(x, x.from_counter);
        if (x.link == none || x.send_bytes != bytes || arrived > 0) {
            break;
        }
        --arrived;
        over_links_.push_back(over_link(x, {{Owner::exchange, x.to_mark}, x.to_chunk.index()}));
        sent_in_step(batch, x);
    }
    if (!over_links_.empty()) {
        transport_.pass_over_links(over_links_, bytes);
    }
    return at;
}

}  // namespace yantra
