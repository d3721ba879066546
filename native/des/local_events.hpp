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
#include "des/event_queue.hpp"

namespace yantra {

struct LocalEvent {
    u32 next = none;
    u32 kind = 0;
    u32 a = 0;
    u32 b = 0;
};

class LocalEvents {
public:
    LocalEvents(EventQueue& queue, u32 ranks, u32 batch_event_kind)
        : queue_(queue), batch_event_kind_(batch_event_kind), newest_(ranks, none) {}

    // Registers an event of `rank` `delay` ticks from now.
    void schedule(u32 rank, u64 delay, u32 kind, u32 a, u32 b) {
        const u64 tick = queue_.now() + delay;
        const u32 event = events_.take();
        events_[event].kind = kind;
        events_[event].a = a;
        events_[event].b = b;
        for (u32 batch = newest_[rank]; batch != none; batch = batches_[batch].older) {
            if (batches_[batch].tick == tick) {
                events_[batches_[batch].last].next = event;
                batches_[batch].last = event;
                return;
            }
        }
        const u32 batch = batches_.take();
        batches_[batch] = {tick, rank, event, event, newest_[rank]};
        newest_[rank] = batch;
        queue_.schedule(tick, batch_event_kind_, batch);
    }

    // Runs a batch; `handle(rank, event)` may add to it while it runs.
    template <class Handle>
    void run(u32 batch, Handle&& handle) {
        const u32 rank = batches_[batch].rank;
        u32 event = batches_[batch].first;
        while (event != none) {
            const LocalEvent current = events_[event];
            handle(rank, current);
            const u32 next = events_[event].next;
            events_.give_back(event);
            event = next;
        }
        unlink(rank, batch);
        batches_.give_back(batch);
    }

private:
    struct Batch {
        u64 tick = 0;
        u32 rank = none;
        u32 first = none;
        u32 last = none;
        u32 older = none;
    };

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
    Pool<LocalEvent> events_;
    Pool<Batch> batches_;
};

}  // namespace yantra
