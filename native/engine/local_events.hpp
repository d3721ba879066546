// LocalEvents: each rank's own events, batched per tick.
//
// All events that a rank registers for one tick run together, at the place in the global order
// where the first of them was registered (astra-sim-semantics, "Sys-local events"); this decides
// ties and is kept in both semantics. A rank has few ticks pending at once, so its batches form a
// short list, newest first; the list is searched, not hashed.
#pragma once

#include <vector>

#include "base/pool.hpp"
#include "base/types.hpp"
#include "base/variant.hpp"
#include "engine/event_queue.hpp"

namespace yantra::inline YANTRA_RUN {

struct LocalEvent {
    u32 kind = 0;
    u32 a = 0;
    u32 b = 0;
    [[no_unique_address]] Trail trail;
};

class LocalEvents {
public:
    LocalEvents(EventQueue& queue, u32 ranks, u32 batch_event_kind)
        : queue_(queue), batch_event_kind_(batch_event_kind), newest_(ranks, none) {}

    // Registers an event of `rank` `delay` ticks from now.
    void schedule(u32 rank, u64 delay, u32 kind, u32 a, u32 b) {
        const u64 tick = queue_.now() + delay;
        for (u32 batch = newest_[rank]; batch != none; batch = batches_[batch].older) {
            if (batches_[batch].tick == tick) {
                append(batches_[batch], kind, a, b);
                return;
            }
        }
        const u32 batch = batches_.take_as_left();
        Batch& fresh = batches_[batch];
        fresh.tick = tick;
        fresh.rank = rank;
        fresh.older = newest_[rank];
        fresh.first.kind = kind;
        fresh.first.a = a;
        fresh.first.b = b;
        fresh.first.trail = queue_.recorder().trail;
        fresh.more = none;
        newest_[rank] = batch;
        queue_.schedule(tick, batch_event_kind_, batch);
    }

    // Runs a batch; `handle(rank, event)` may add to it while it runs.
    template <class Handle>
    void run(u32 batch, Handle&& handle) {
        const u32 rank = batches_[batch].rank;
        const LocalEvent first = batches_[batch].first;
        handle(rank, first);
        for (u32 link = batches_[batch].more; link != none;) {
            const LocalEvent event = links_[link].event;
            handle(rank, event);
            const u32 next = links_[link].next;
            links_.give_back(link);
            link = next;
        }
        unlink(rank, batch);
        batches_.give_back(batch);
    }

    u32 rank_of(u32 batch) const { return batches_[batch].rank; }
    void postpone(u32 batch, u64 ticks) { batches_[batch].tick += ticks; }

    // Calls visit(event) for each event of a batch, which it may change.
    template <class Visit>
    void for_each(u32 batch, Visit&& visit) {
        visit(batches_[batch].first);
        for (u32 link = batches_[batch].more; link != none; link = links_[link].next) {
            visit(links_[link].event);
        }
    }

private:
    // Most batches hold one event, so the first lies in the batch itself.
    struct Batch {
        u64 tick = 0;
        u32 rank = none;
        u32 older = none;
        LocalEvent first;
        u32 more = none;
        u32 last = none;
    };
    struct Link {
        LocalEvent event;
        u32 next = none;
    };

    void append(Batch& batch, u32 kind, u32 a, u32 b) {
        const u32 link = links_.take_as_left();
        Link& fresh = links_[link];
        fresh.event.kind = kind;
        fresh.event.a = a;
        fresh.event.b = b;
        fresh.event.trail = queue_.recorder().trail;
        fresh.next = none;
        if (batch.more == none) {
            batch.more = link;
        } else {
            links_[batch.last].next = link;
        }
        batch.last = link;
    }

    void unlink(u32 rank, u32 batch) {
        u32* link = &newest_[rank];
        while (*link != batch) {
            link = &batches_[*link].older;
        }
        *link = batches_[batch].older;
    }

    EventQueue& queue_;
    u32 batch_event_kind_;
    std::vector<u32> newest_;
    Pool<Batch> batches_;
    Pool<Link> links_;
};

}  // namespace yantra
