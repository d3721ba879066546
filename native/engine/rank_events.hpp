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
        if (newest_[actor] == none && delay > 0 && batches_.has_free()) [[likely]] {
            begin(actor, queue_.now() + delay, {kind, a, b, queue_.recorder().trail});
            return;
        }
        schedule_beside(actor, delay, kind, a, b);
    }

    // Runs a batch; `handle(actor, event)` may add to it while it runs.
    template <class Handle>
    void run(u32 batch, Handle&& handle) {
        const ActorId actor = batches_[batch].actor;
        unlink(actor, batch);
        running_ = batch;
        RankEvent event = batches_[batch].first;
        for (u32 link = none;;) {
            handle(actor, event);
            const u32 next = link == none ? batches_[batch].more : links_[link].next;
            if (link != none) {
                links_.give_back(link);
            }
            if (next == none) {
                break;
            }
            link = next;
            event = links_[link].event;
        }
        running_ = none;
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

    // Apart, so that the usual case saves no registers for it.
    [[gnu::noinline]] void schedule_beside(ActorId actor, u64 delay, EventKind kind, u32 a, u32 b) {
        const RankEvent event{kind, a, b, queue_.recorder().trail};
        const u64 tick = queue_.now() + delay;
        const u32 batch = find(actor, tick);
        if (batch == none) {
            begin(actor, tick, event);
        } else {
            append(batches_[batch], event);
        }
    }

    void begin(ActorId actor, u64 tick, const RankEvent& event) {
        const u32 batch = batches_.take_as_left();
        Batch& fresh = batches_[batch];
        fresh.tick = tick;
        fresh.actor = actor;
        fresh.older = newest_[actor];
        fresh.first = event;
        fresh.more = none;
        newest_[actor] = batch;
        queue_.schedule(tick, {Owner::rank_events, 0}, batch);
    }

    // The batch of an actor for a tick, or none. The one that runs is in no list.
    u32 find(ActorId actor, u64 tick) const {
        if (running_ != none && batches_[running_].tick == tick && batches_[running_].actor == actor) {
            return running_;
        }
        u32 batch = newest_[actor];
        while (batch != none && batches_[batch].tick != tick) {
            batch = batches_[batch].older;
        }
        return batch;
    }

    void append(Batch& batch, const RankEvent& event) {
        const u32 link = links_.take_as_left();
        links_[link].event = event;
        links_[link].next = none;
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
    u32 running_ = none;
    IdVector<ActorId, u32> newest_;   // by actor; linked by `older`
    Pool<Batch> batches_;
    Pool<Link> links_;
};

}  // namespace yantra
