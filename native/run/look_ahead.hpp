// LookAhead: fetches what the next events of messages between nodes will read, before their turn comes.
//
// Ranks take turns at random, so the message, its two nodes and what waits for these are in no near cache when
// an event names them, and each is found only through the one before. The queue knows the next events, so
// each is looked at three times before it comes, a step further at each. Trade-off: some dozens of
// instructions for a message; nothing but time depends on it, so a wrong guess costs no more than that.
#pragma once

#include <array>

#include "base/variant.hpp"
#include "engine/engine.hpp"
#include "execution/executor.hpp"
#include "transport/transport.hpp"

namespace yantra::inline YANTRA_RUN {

class LookAhead {
public:
    LookAhead(const EventQueue& queue, const Transport& transport, const Executor& executor)
        : queue_(queue), transport_(transport), executor_(executor) {}

    // To be called when an event of the transport comes.
    [[gnu::always_inline]] void step() {
        if (seen_until_ < queue_.now()) {
            seen_until_ = queue_.now();
        }
        if (seen_until_ - queue_.now() > farthest) {
            return;
        }
        seen_until_ = queue_.near_after(seen_until_);
        const u32 newest = message_at(seen_until_);
        if (newest != none) {
            __builtin_prefetch(&transport_.state().flights[newest]);
        }
        fetch_nodes(coming_[0], [&](ActorId actor, NodeId node) { executor_.fetch_what_waits(actor, node); });
        fetch_nodes(coming_[1], [&](ActorId actor, NodeId node) { executor_.fetch_node(actor, node); });
        coming_[0] = coming_[1];
        coming_[1] = coming_[2];
        coming_[2] = newest;
    }

private:
    static constexpr u64 farthest = 256;   // ticks

    u32 message_at(u64 tick) const {
        const EventRun* const run = queue_.first_at(tick);
        return run != nullptr && run->owner() == Owner::transport ? run->index(0) : none;
    }

    template <class Fetch>
    void fetch_nodes(u32 message, Fetch&& fetch) const {
        if (message == none) {
            return;
        }
        const Transport::Flight& flight = transport_.state().flights[message];
        for (const Completion* then : {&flight.sent, &flight.received}) {
            if (!then->kind.is_none() && then->kind.owner() == Owner::execution) {
                fetch(ActorId(then->a), NodeId(then->b));
            }
        }
    }

    const EventQueue& queue_;
    const Transport& transport_;
    const Executor& executor_;
    u64 seen_until_ = 0;
    std::array<u32, 3> coming_{none, none, none};   // messages, the next to come first
};

}  // namespace yantra
