// RankEvents: what an actor will do, batched per tick. A batch runs at the place in the global
// order of its first event (astra-sim-semantics, "Sys-local events"). Events that differ by 1 in
// `b` alone are one entry with a count.
#pragma once

#include <type_traits>

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
    static constexpr EventKind batch_begins{Owner::rank_events, 0};

    RankEvents(EventQueue& queue, u32 actors) : queue_(queue), actors_(actors), own_(actors) {}

    void schedule(ActorId actor, u64 delay, EventKind kind, u32 a, u32 b = none) {
        Own& own = own_[actor];
        if (own.batch.tick == nothing && own.newest == none && delay > 0) [[likely]] {
            fill(own.batch, queue_.now() + delay, {kind, a, b, queue_.recorder().trail});
            queue_.schedule(own.batch.tick, batch_begins, actor.index());
            return;
        }
        schedule_beside(actor, delay, {kind, a, b, queue_.recorder().trail});
    }

    // With `b` one more each; not in a recorded run.
    void schedule(ActorId actor, u64 delay, EventKind kind, u32 a, u32 b, u32 count) {
        schedule(actor, delay, kind, a, b);
        if (--count == 0) {
            return;
        }
        const RankEvent rest{kind, a, b + 1, {}};
        if (delay == 0 && actor == running_) {
            append(more_, last_, rest, count);
            return;
        }
        const u64 tick = queue_.now() + delay;
        Batch& own = own_[actor].batch;
        Batch& batch = own.tick == tick ? own : *find(actor, tick);
        append(batch.more, batch.last, rest, count);
    }

    // `handle(actor, event, count)` returns how many it handled, and may add to the batch.
    template <class Handle>
    void run(u32 batch, Handle&& handle) {
        if (batch < actors_) [[likely]] {
            const ActorId actor(batch);
            handle(actor, begin(actor), 1);
        } else {
            const Further taken = batches_[batch - actors_];
            unlink(batch - actors_);
            begin(taken.actor, taken.batch);
            handle(taken.actor, taken.batch.first, 1);
        }
        finish(handle);
    }

    // begin() returns the first event of an actor's own batch, is_over() whether that was all.
    bool begins_with(u32 batch, Owner owner) const {
        return batch < actors_ && own_[ActorId(batch)].batch.first.kind.owner() == owner;
    }
    RankEvent begin(ActorId actor) {
        Batch& own = own_[actor].batch;
        begin(actor, own);
        own.tick = nothing;
        return own.first;
    }
    bool is_over() {
        if (more_ != none) [[unlikely]] {
            return false;
        }
        running_ = ActorId::none;
        return true;
    }

    // only_event() takes a batch of one event, else returns null; then the actor's next event can
    // be added.
    const RankEvent* only_event(u32 batch) const {
        const Batch& asked =
            batch < actors_ ? own_[ActorId(batch)].batch : batches_[batch - actors_].batch;
        return asked.more == none ? &asked.first : nullptr;
    }
    ActorId take_only(u32 batch) {
        if (batch >= actors_) [[unlikely]] {
            return take_further(batch - actors_);
        }
        own_[ActorId(batch)].batch.tick = nothing;
        return ActorId(batch);
    }
    u32 put(ActorId actor, u64 tick, EventKind kind, u32 a, u32 b = none) {
        Own& own = own_[actor];
        if (own.batch.tick != nothing || own.newest != none) [[unlikely]] {
            const RankEvent event{kind, a, b, queue_.recorder().trail};
            if (own.batch.tick == tick && own.batch.more != none && goes_on(own.batch.last, event)) {
                ++links_[own.batch.last].count;
                return none;
            }
            return put_beside(actor, tick, event);
        }
        fill(own.batch, tick, {kind, a, b, queue_.recorder().trail});
        return actor.index();
    }
    bool has_more() const { return more_ != none; }
    bool is_running() const { return !running_.is_none(); }
    template <class Handle>
    void finish(Handle&& handle) {
        while (more_ != none) {
            const u32 link = more_;
            RankEvent event = links_[link].event;
            for (u32 done = 0; done < links_[link].count;) {   // more may come, also in this entry
                const u32 handled = handle(running_, event, links_[link].count - done);
                done += handled;
                event.b += handled;
            }
            more_ = links_[link].next;
            links_.give_back(link);
        }
        running_ = ActorId::none;
    }

    ActorId actor_of(u32 batch) const {
        return batch < actors_ ? ActorId(batch) : batches_[batch - actors_].actor;
    }
    void postpone(u32 batch, u64 ticks) { at(batch).tick += ticks; }
    template <class Visit>
    void for_each(u32 batch, Visit&& visit) {
        visit(at(batch).first);
        for (u32 link = at(batch).more; link != none; link = links_[link].next) {
            split(at(batch), link);
            visit(links_[link].event);
        }
    }

private:
    static constexpr u64 nothing = ~u64{0};

    // Most hold one event, kept here.
    struct Batch {
        u64 tick = nothing;
        RankEvent first;
        u32 more = none;
        u32 last = none;
    };
    struct Own {
        Batch batch;
        u32 newest = none;   // of the actor's further batches
    };
    struct Further {
        Batch batch;
        ActorId actor;
        u32 older = none;
    };
    struct Link {
        RankEvent event;   // the first of `count`, with `b` one more each
        u32 count = 1;
        u32 next = none;
    };

    Batch& at(u32 batch) {
        return batch < actors_ ? own_[ActorId(batch)].batch : batches_[batch - actors_].batch;
    }

    void begin(ActorId actor, const Batch& batch) {
        running_ = actor;
        more_ = batch.more;
        last_ = batch.last;
    }

    static void fill(Batch& batch, u64 tick, const RankEvent& event) {
        batch.tick = tick;
        batch.first.kind = event.kind;
        batch.first.a = event.a;
        batch.first.b = event.b;
        batch.first.trail = event.trail;
        batch.more = none;
    }

    [[gnu::noinline]] void schedule_beside(ActorId actor, u64 delay, const RankEvent& event) {
        const u64 tick = queue_.now() + delay;
        if (delay == 0 && actor == running_) {
            append(more_, last_, event);
        } else if (const u32 batch = put_beside(actor, tick, event); batch != none) {
            queue_.schedule(tick, batch_begins, batch);
        }
    }
    [[gnu::noinline]] u32 put_beside(ActorId actor, u64 tick, const RankEvent& event) {
        Own& own = own_[actor];
        if (own.batch.tick == tick) {
            append(own.batch.more, own.batch.last, event);
            return none;
        }
        if (Batch* const batch = find(actor, tick)) {
            append(batch->more, batch->last, event);
            return none;
        }
        if (own.batch.tick == nothing) {
            fill(own.batch, tick, event);
            return actor.index();
        }
        const u32 fresh = batches_.take_as_left();
        fill(batches_[fresh].batch, tick, event);
        batches_[fresh].actor = actor;
        batches_[fresh].older = own.newest;
        own.newest = fresh;
        return actors_ + fresh;
    }
    [[gnu::noinline]] ActorId take_further(u32 batch) {
        const ActorId actor = batches_[batch].actor;
        unlink(batch);
        return actor;
    }

    // The running batch is in no list.
    Batch* find(ActorId actor, u64 tick) {
        u32 batch = own_[actor].newest;
        while (batch != none && batches_[batch].batch.tick != tick) {
            batch = batches_[batch].older;
        }
        return batch == none ? nullptr : &batches_[batch].batch;
    }

    bool goes_on(u32 link, const RankEvent& event) const {
        const Link& before = links_[link];
        return std::is_empty_v<Trail> && before.event.a == event.a &&
               before.event.b + before.count == event.b && before.event.kind == event.kind;
    }
    void append(u32& more, u32& last, const RankEvent& event, u32 count = 1) {
        if (more != none && goes_on(last, event)) {
            links_[last].count += count;
            return;
        }
        const u32 link = links_.take_as_left();
        links_[link].event = event;
        links_[link].count = count;
        links_[link].next = none;
        if (more == none) {
            more = link;
        } else {
            links_[last].next = link;
        }
        last = link;
    }

    // So that it can change alone.
    void split(Batch& batch, u32 link) {
        if (links_[link].count == 1) {
            return;
        }
        const u32 rest = links_.take_as_left();
        links_[rest] = links_[link];
        ++links_[rest].event.b;
        --links_[rest].count;
        links_[link].count = 1;
        links_[link].next = rest;
        if (batch.last == link) {
            batch.last = rest;
        }
    }

    void unlink(u32 batch) {
        u32* link = &own_[batches_[batch].actor].newest;
        while (*link != batch) {
            link = &batches_[*link].older;
        }
        *link = batches_[batch].older;
        batches_.give_back(batch);
    }

    EventQueue& queue_;
    u32 actors_;
    ActorId running_;   // whose batch runs, and what is left of it
    u32 more_ = none;
    u32 last_ = none;
    IdVector<ActorId, Own> own_;
    Pool<Further> batches_;
    Pool<Link> links_;
};

}  // namespace yantra
