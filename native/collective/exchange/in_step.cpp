#include "collective/exchange/in_step.hpp"

#include <algorithm>

#include "engine/event_row.hpp"

namespace yantra::exchange {

namespace {

constexpr u32 few = 4;   // events; if a loop handles no more, the ranks are not in step
constexpr EventKind is_handed_over(Owner::exchange, handed_over);
constexpr EventKind is_reduced(Owner::exchange, reduced);

u32 reduced_alike(const ExchangeProgram& program, u32 run, u32 count) {
    const Run* const first = &program.runs[run];
    u32 alike = 1;
    while (alike < count && first[alike].reduce == first->reduce) {
        ++alike;
    }
    return alike;
}

}  // namespace

void InStep::handle_arrivals(const EventRun& run, u32 at, u32 until) {
    const bool is_one_kind = run.kind_stride == 0;
    bool in_step = arrives_in_step_ && Mark::is_of_chunk(run.first_kind.kind());
    if (in_step && is_one_kind && at == 0 && until == run.count && until > few && rounds_.go(run)) {
        return;
    }
    for (; at < until; ++at) {
        if (in_step && until - at > few) {
            const u32 from = at;
            at = is_one_kind ? arrive<true>(run, at, until) : arrive<false>(run, at, until);
            if (at == until) {
                return;
            }
            in_step = at - from > few;
        }
        single_.handle(run.event(at));
    }
}

template <bool is_one_kind>
u32 InStep::arrive(const EventRun& run, u32 at, u32 until) {
    RankEvents& events = engine_.of_ranks;
    Packets* const packets = peers_.all();
    const u64 now = engine_.now();
    u32 mark = run.first_kind.kind();
    EventRow row(engine_.queue, until - at);
    const EventRun::Indices chunks = run.indices();
    for (; at < until; ++at) {
        const u32 chunk = chunks[at];
        fetch_ahead(packets, chunks, at, until);
        if constexpr (!is_one_kind) {
            mark = run.kind(at).kind();
            if (!Mark::is_of_chunk(mark)) {
                break;
            }
        }
        Packets& x = packets[chunk];
        if (x.started != Mark::phase(mark) || x.hand_over_ticks == 0) [[unlikely]] {
            break;
        }
        if (!arrives(peers_.counter(x, Mark::counter(mark)))) [[unlikely]] {
            continue;
        }
        x.receive();
        const u64 tick = now + x.hand_over_ticks;
        const u32 batch = events.put(x.actor, tick, is_handed_over, chunk, x.hand_over());
        if (batch != none) [[likely]] {
            row.schedule(tick, RankEvents::batch_begins, batch);
        }
    }
    row.flush();
    return at;
}

u32 InStep::handle_of_ranks(const EventRun& run, u32 at, u32 until) {
    RankEvents& events = engine_.of_ranks;
    bool in_step = true;
    for (; at < until && !engine_.paused; ++at) {
        while (in_step && until - at > few) {
            const u32 from = at;
            at = go_on(run, at, until);
            in_step = at - from > few;
        }
        if (at == until || !events.begins_with(run.index(at), Owner::exchange)) {
            return at;
        }
        single_.phase_ended = false;
        single_.handle_first(ActorId(run.index(at)));
        if (!events.is_over()) [[unlikely]] {
            return at;
        }
        in_step = in_step || single_.phase_ended;
    }
    return at;
}

inline u32 InStep::go_on(const EventRun& run, u32 at, u32 until) {
    const RankEvent* const event = engine_.of_ranks.only_event(run.index(at));
    if (event == nullptr || event->kind.owner() != Owner::exchange) {
        return at;
    }
    if (event->kind == is_handed_over) {
        Packets& x = peers_.of(ChunkId(event->a));
        hand_overs_.know_reduction(x, event->b);
        if (x.reduce_ticks < shares_memory) {
            return reduce(run, at, until);
        }
    }
    return send(run, at, until);
}

u32 InStep::reduce(const EventRun& run, u32 at, u32 until) {
    RankEvents& events = engine_.of_ranks;
    Packets* const packets = peers_.all();
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
        hand_overs_.know_reduction(x, event->b);
        const u64 ticks = x.reduce_ticks;
        if (ticks >= shares_memory || ticks == 0) {
            break;
        }
        const u32 later = events.put(events.take_only(batch), now + ticks, is_reduced, chunk);
        if (later != none) [[likely]] {
            row.schedule(now + ticks, RankEvents::batch_begins, later);
        }
    }
    row.flush();
    return at;
}

[[gnu::always_inline]] inline Packets* InStep::sends_alone(const RankEvent* event) {
    if (event == nullptr || (event->kind != is_reduced && event->kind != is_handed_over)) {
        return nullptr;
    }
    Packets& x = peers_.of(ChunkId(event->a));
    if (event->kind == is_handed_over) {
        hand_overs_.know_reduction(x, event->b);
        if (x.reduce_ticks != not_reduced) {
            return nullptr;
        }
    }
    return x.is_usual() ? &x : nullptr;
}

u32 InStep::send(const EventRun& run, u32 at, u32 until) {
    RankEvents& events = engine_.of_ranks;
    const EventRun::Indices batches = run.indices();
    const Packets* const first = sends_alone(events.only_event(batches[at]));
    if (first == nullptr) {
        return at;
    }
    Departures departures(engine_, transport_, over_links_, *first, until - at);
    for (; at < until; ++at) {
        const u32 batch = batches[at];
        Packets* const x = sends_alone(events.only_event(batch));
        if (x == nullptr) {
            break;
        }
        i32& counter = peers_.counter(*x, x->from_counter);
        if (counter > 0 || !departures.take(*x)) {
            break;
        }
        is_posted(counter);
        departures.add(*x, x->notice());
        events.take_only(batch);
        peers_.went(*x, x->send_at_once());
    }
    departures.leave();
    return at;
}

// A direct algorithm has a message to every rank under way, which may return together. First and
// last packets are handled singly.
u32 InStep::handle_many(const RankEvent& event, u32 count) {
    const ChunkId chunk(event.a);
    Packets& x = peers_.of(chunk);
    if (event.kind.kind() == handed_over) {
        hand_overs_.know_reduction(x, event.b);
        if (x.reduce_ticks == shares_memory || (x.reduce_ticks == not_reduced && !send_together(x))) {
            single_.handle(event);
            return 1;
        }
        count = reduced_alike(*x.program, event.b, count);
        x.reduce_run = event.b + count - 1;
        if (x.reduce_ticks != not_reduced) {
            engine_.of_ranks.schedule(x.actor, x.reduce_ticks, is_reduced, event.a, event.b, count);
            return count;
        }
    }
    u32 done = x.wait(count);
    if (done == 0 && send_together(x)) {
        done = send_many(chunk, x, x.sending(count));
    }
    if (done == 0) {
        single_.is_free_apart(chunk);
        done = 1;
    }
    return done;
}

bool InStep::send_together(const Packets& x) const {
    const bool is_known = x.way.use != nullptr || (x.link != none && x.ranks == 1);
    return (is_known || x.left == 0) && !x.program->returns && peers_.are_counted(x.table);
}

// Over links, only with receives yet unmet.
u32 InStep::send_many(ChunkId chunk, Packets& x, u32 count) {
    Departures departures(engine_, transport_, over_links_, x, count);
    u32 sent = 0;
    for (; sent < count && departures.take(x); ++sent) {
        i32& counter = peers_.counter(x, x.from_counter);
        if (counter > 0 && !departures.are_by_way()) {
            break;
        }
        departures.add(x, peers_.notice(x));
        if (is_posted(counter)) {
            single_.has_message(chunk);
        }
        peers_.went(x, x.send_at_once());
    }
    departures.leave();
    return sent;
}

}  // namespace yantra::exchange
