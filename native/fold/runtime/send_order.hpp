// SendOrder: whether an actor's sends of one tick are in one order throughout its class: those of
// two chunks if handed over or reduced in different ticks, or in one event with no other change; a
// chunk's and an event's are. All else counts as unknown.
#pragma once

#include <algorithm>
#include <utility>
#include <vector>

#include "base/types.hpp"

namespace yantra {

class SendOrder {
public:
    static constexpr u64 unknown = ~u64{0};

    struct Packet {
        u64 event = unknown;       // that handed it over
        u64 handed_over = 0;       // tick of that
        u64 registered = 0;        // tick in which its last event before sending was registered
        u64 due = 0;               // tick in which it is free to go
        bool reduced = false;
        bool operator==(const Packet&) const = default;
    };

    explicit SendOrder(u32 actors) : changes_(actors) {}

    // False if an order relied on in this tick no longer holds.
    bool actor_changes(u32 actor, u64 tick, u64 event) {
        Changes& c = changes_[actor];
        if (c.tick != tick) {
            c = {tick, event, false, false, {}};
        }
        if (c.event == event) {
            return true;
        }
        c.several = true;
        for (u32 chunk : std::exchange(c.started, {})) {
            for (Packet& packet : packets_[chunk]) {
                packet.event = packet.handed_over == tick ? unknown : packet.event;
            }
        }
        return !c.relied_on;
    }

    void phase_starts(u32 actor, u64 tick, u32 chunk) {
        if (packets_.size() <= chunk) {
            packets_.resize(chunk + 1);
        }
        packets_[chunk].clear();
        if (changes_[actor].tick == tick) {
            changes_[actor].started.push_back(chunk);
        }
    }

    void hand_over(u32 actor, u32 chunk, Packet packet) {
        const Changes& c = changes_[actor];
        if (c.tick == packet.handed_over && c.several) {
            packet.event = unknown;
        }
        packets_[chunk].push_back(packet);
    }

    u64 chunk_sends(u32 actor, u64 tick, u32 chunk, u64 name) {
        std::vector<Packet>& waiting = packets_[chunk];
        Packet packet;
        bool on_time = false;
        if (!waiting.empty()) {
            packet = waiting.front();
            on_time = packet.due == tick &&
                      std::all_of(waiting.begin(), waiting.end(), [&](const Packet& other) {
                          return other.due > tick || other == packet;
                      });
            waiting.erase(waiting.begin());
        }
        return add(tick, {actor, true, on_time, name, packet});
    }
    u64 node_sends(u32 actor, u64 tick, u64 event) { return add(tick, {actor, false, false, event, {}}); }

    bool in_one_order(u64 first, u64 second) {
        const Sender& a = senders_[first];
        const Sender& b = senders_[second];
        if (a.is_chunk == b.is_chunk && a.name == b.name) {
            return true;
        }
        if (!a.on_time || !b.on_time) {
            return false;
        }
        const Packet& p = a.packet;
        const Packet& q = b.packet;
        if (p.registered != q.registered) {
            return true;
        }
        if (p.reduced != q.reduced) {
            return false;
        }
        if (p.handed_over != q.handed_over) {
            return true;
        }
        changes_[a.actor].relied_on |= p.handed_over == tick_;
        return p.event == q.event && p.event != unknown;
    }

private:
    struct Changes {
        u64 tick = unknown;
        u64 event = unknown;
        bool several = false;      // events change the actor in this tick
        bool relied_on = false;    // the order within the one event was used
        std::vector<u32> started;  // chunks, in this tick
    };
    struct Sender {
        u32 actor;
        bool is_chunk;             // `name` is its name, else that of the event
        bool on_time;              // `packet` is what it sends
        u64 name;
        Packet packet;
    };

    u64 add(u64 tick, const Sender& sender) {
        if (tick_ != tick) {
            tick_ = tick;
            senders_.clear();
        }
        senders_.push_back(sender);
        return senders_.size() - 1;
    }

    std::vector<Changes> changes_;                // by actor
    std::vector<std::vector<Packet>> packets_;    // by chunk
    std::vector<Sender> senders_;                 // of the tick
    u64 tick_ = unknown;
};

}  // namespace yantra
