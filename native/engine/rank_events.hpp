// RankEvents: what an actor will do, batched per tick.
//
// All that an actor registers for one tick runs together, at the place in the global order where the
// first of it was registered (astra-sim-semantics, "Sys-local events"). This decides ties and is kept
// in both semantics. An actor has few ticks pending at once, so its batches form a short list, newest
// first, that is searched and not hashed.
#pragma once

#include "base/ids.hpp"
#include "base/pool.hpp"
#include "base/types.hpp"
#include "base/variant.hpp"
#include "engine/event_queue.hpp"

namespace yantra::inline YANTRA_RUN {

struct RankEvent {
    EventKind kind;
    u32 a = 0;
    u32 b = 0;
    [[no_unique_address]] Trail trail;
};

class RankEvents {
public:
    RankEvents(EventQueue& queue, u32 actors) : queue_(queue), newest_(actors, none) {}

    // Registers an event of an actor `delay` ticks from now.
    void schedule(ActorId actor, u64 delay, EventKind kind, u32 a, u32 b = none) {
        const u64 tick = queue_.now() + delay;
        for (u32 batch = newest_[actor]; batch != none; batch = batches_[batch].older) {
            if (batches_[batch].tick == tick) {
                append(batches_[batch], kind, a, b);
                return;
            }
        }
        const u32 batch = batches_.take_as_left();
        Batch& fresh = batches_[batch];
        fresh.tick = tick;
        fresh.actor = actor;
        fresh.older = newest_[actor];
        fresh.first.kind = kind;
        fresh.first.a = a;
        fresh.first.b = b;
        fresh.first.trail = queue_.recorder().trail;
        fresh.more = none;
        newest_[actor] = batch;
        queue_.schedule(tick, {Owner::rank_events, 0}, batch);
    }

    // Runs a batch; `handle(actor, event)` may add to it while it runs.
    template <class Handle>
    void run(u32 batch, Handle&& handle) {
        const ActorId actor = batches_[batch].actor;
        const RankEvent first = batches_[batch].first;
        handle(actor, first);
        for (u32 link = batches_[batch].more; link != none;) {
            const RankEvent event = links_[link].event;
            handle(actor, event);
            const u32 next = links_[link].next;
            links_.give_back(link);
            link = next;
        }
        unlink(actor, batch);
        batches_.give_back(batch);
    }

    // For whoever describes and moves what is pending.
    ActorId actor_of(u32 batch) const { return batches_[batch].actor; }
    void postpone(u32 batch, u64 ticks) { batches_[batch].tick += ticks; }
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
        ActorId actor;
        u32 older = none;
        RankEvent first;
        u32 more = none;
        u32 last = none;
    };
    struct Link {
        RankEvent event;
        u32 next = none;
    };

    void append(Batch& batch, EventKind kind, u32 a, u32 b) {
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

    void unlink(ActorId actor, u32 batch) {
        u32* link = &newest_[actor];
        while (*link != batch) {
            link = &batches_[*link].older;
        }
        *link = batches_[batch].older;
    }

    EventQueue& queue_;
    IdVector<ActorId, u32> newest_;
    Pool<Batch> batches_;
    Pool<Link> links_;
};

}  // namespace yantra
