// Packets of one chunk handed over or reduced at one time, in one loop.
//
// A direct algorithm has a message to every other rank under way, which may all return together:
// hundreds of events that differ only in the packet. Trade-off: the usual path exists once more
// (exchange_in_step.cpp). First and last packets, and unusual ones, are handled singly.
#include <algorithm>

#include "collective/runtime/exchange.hpp"
#include "engine/event_row.hpp"

namespace yantra {

namespace {

u32 reduced_alike(const ExchangeProgram& machine, u32 run, u32 count) {
    const Run* const first = &machine.runs[run];
    u32 alike = 1;
    while (alike < count && first[alike].reduce == first->reduce) {
        ++alike;
    }
    return alike;
}

}  // namespace

u32 Exchange::handle_many(const RankEvent& event, u32 count) {
    const ChunkId chunk(event.a);
    Packets& x = of(chunk);
    if (event.kind.kind() == handed_over) {
        know_reduction(x, event.b);
        if (x.reduce_ticks == shares_memory || (x.reduce_ticks == not_reduced && !send_together(x))) {
            step(event);
            return 1;
        }
        count = reduced_alike(*x.machine, event.b, count);
        x.reduce_run = event.b + count - 1;
        if (x.reduce_ticks != not_reduced) {
            engine_.of_ranks.schedule(x.actor, x.reduce_ticks, {Owner::exchange, reduced}, event.a, event.b, count);
            return count;
        }
    }
    u32 done = wait_many(x, count);
    if (done == 0 && send_together(x)) {
        done = send_many(chunk, x, count);
    }
    if (done == 0) {
        is_free_apart(chunk);
        done = 1;
    }
    return done;
}

// Only the last has consequences.
u32 Exchange::wait_many(Packets& x, u32 count) const {
    u32 waiting = 0;
    if (x.left == 0) {
        const u64 missing = x.machine->window - x.free;   // until the phase ends
        waiting = static_cast<u32>(std::min<u64>(count, missing - 1));
    } else if (x.left <= x.barrier_at && !x.machine->barrier_counts_hand_overs && !passes_barrier(x)) {
        waiting = count;
    }
    x.free += waiting;
    return waiting;
}

bool Exchange::send_together(const Packets& x) const {
    const bool is_known = x.way.use != nullptr || (x.link != none && x.ranks == 1);
    return (is_known || x.left == 0) && !x.machine->returns && counts_arrivals(x.table);
}

// Except those that end the phase or reach a barrier.
u32 Exchange::send_many(ChunkId chunk, Packets& x, u32 count) {
    if (x.free > 0 || x.left == 0) {
        return 0;
    }
    if (x.left > x.barrier_at) {
        count = std::min(count, x.left - std::max(x.barrier_at, 1u));
    } else {
        ++x.free;   // as when the first of them reaches the barrier
        const bool passes = passes_barrier(x);
        --x.free;
        count = passes ? std::min(count, x.left - 1) : 0;
    }
    if (x.way.use == nullptr) {
        return send_many_over_links(x, count);
    }
    const u64 now = engine_.now();
    EventRow row(engine_.queue, count);
    u32 sent = 0;
    for (; sent < count && x.way.use != nullptr; ++sent) {
        const Notice notice = notice_of_arrival(x);
        x.way.use->bytes += x.send_bytes * x.ranks;
        x.way.use->messages += x.ranks;
        row.schedule(now + x.way.ticks, notice.kind, notice.index);
        --x.left;
        --x.pending;
        if (post(chunk, x)) {
            has_message(chunk);
        }
        sent_one(x);
    }
    row.flush();
    transport_.count(u64{sent} * x.ranks);
    return sent;
}

// Over links where messages may wait, of one size, with receives yet unmet.
u32 Exchange::send_many_over_links(Packets& x, u32 count) {
    const u64 bytes = x.send_bytes;
    over_links_.clear();
    for (; over_links_.size() < count && x.link != none && x.send_bytes == bytes; sent_one(x)) {
        i32& arrived = counter(x, x.from_counter);
        if (arrived > 0) {
            break;
        }
        --arrived;
        over_links_.push_back(over_link(x, notice_of_arrival(x)));
        --x.left;
        --x.pending;
    }
    transport_.pass_over_links(over_links_, bytes);
    return static_cast<u32>(over_links_.size());
}

}  // namespace yantra
