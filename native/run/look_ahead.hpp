// LookAhead: prefetches what the next events of messages between nodes will read, in two visits:
// first the message, then its nodes. Trade-off: a hundred instructions a message; only speed
// depends on it.
#pragma once

#include <array>

#include "base/variant.hpp"
#include "engine/component.hpp"
#include "engine/engine.hpp"
#include "execution/executor.hpp"
#include "transport/transport.hpp"

namespace yantra::inline YANTRA_RUN {

class LookAhead final : public Component {
public:
    LookAhead(const EventQueue& queue, Transport& transport, const Executor& executor)
        : queue_(queue), transport_(transport), executor_(executor) {}

    void handle(const Event& event) override {
        step();
        transport_.handle(event);
    }

private:
    [[gnu::always_inline]] void step() {
        const u64 now = queue_.now();
        if (now_ != now) {
            now_ = now;
            ticks_seen_ -= ticks_seen_ > 0;
        }
        if (seen_until_ <= now) {
            seen_until_ = now;
            ticks_seen_ = 0;
        } else if (ticks_seen_ == most_ticks) {
            return;
        }
        ++ticks_seen_;
        seen_until_ = queue_.near_after(seen_until_);
        const u32 newest = message_at(seen_until_);
        if (newest != none) {
            __builtin_prefetch(&transport_.state().flights[newest]);
        }
        for_each_end(coming_[0], [&](const Completion& then) {
            executor_.nodes().fetch(ActorId(then.a), NodeId(then.b),
                                    static_cast<u8>(then.kind.kind()));
        });
        coming_[0] = coming_[1];
        coming_[1] = newest;
    }

    // More would be evicted before use.
    static constexpr u32 most_ticks = 4;

    u32 message_at(u64 tick) const {
        const EventRun* const run = queue_.first_at(tick);
        return run != nullptr && run->owner() == Owner::transport ? run->index(0) : none;
    }

    template <class Fetch>
    [[gnu::always_inline]] void for_each_end(u32 message, Fetch&& fetch) const {
        if (message == none) {
            return;
        }
        const Transport::Flight& flight = transport_.state().flights[message];
        if (is_of_node(flight.sent)) {
            fetch(flight.sent);
        }
        if (is_of_node(flight.received)) {
            fetch(flight.received);
        }
    }

    static bool is_of_node(const Completion& then) { return then.kind.owner() == Owner::execution; }

    const EventQueue& queue_;
    Transport& transport_;
    const Executor& executor_;
    u64 now_ = 0;
    u64 seen_until_ = 0;
    u32 ticks_seen_ = 0;                      // ahead
    std::array<u32, 2> coming_{none, none};   // messages, the next to come first
};

}  // namespace yantra
