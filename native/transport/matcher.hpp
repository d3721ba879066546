// Matcher: pairs the k-th send with the k-th receive of the same (tag, source, destination, size).
//
// An open-addressing table holds only keys with something waiting, so it stays as small as the
// traffic in flight; upstream's counters grow for the whole run. Size is part of the key: a send and
// a receive of different sizes never meet (astra-sim-semantics 0.3).
#pragma once

#include <vector>

#include "base/types.hpp"

namespace yantra {

struct MatchKey {
    u64 bytes;
    u32 tag;
    u32 src;
    u32 dst;
    bool operator==(const MatchKey&) const = default;
};

class Matcher {
public:
    enum class Side : u32 { send = 1, receive = 2 };

    Matcher() : slots_(64) {}

    // The message that waits longest on the other side, removed; or none, and `message` now waits.
    // `next` links messages that wait for the same key.
    template <class Next>
    u32 match(const MatchKey& key, Side side, u32 message, Next&& next) {
        const u32 slot = find(key);
        Slot& found = slots_[slot];
        if (found.side == 0) {
            found = {key, message, message, static_cast<u32>(side)};
            if (++used_ * 2 > slots_.size()) {
                grow();
            }
            return none;
        }
        if (found.side == static_cast<u32>(side)) {
            next(found.last) = message;
            found.last = message;
            return none;
        }
        const u32 partner = found.first;
        if (partner == found.last) {
            erase(slot);
        } else {
            found.first = next(partner);
        }
        return partner;
    }

    // Calls visit(key, side, first message) for every key that waits.
    template <class Visit>
    void for_each(Visit&& visit) const {
        for (const Slot& slot : slots_) {
            if (slot.side != 0) {
                visit(slot.key, static_cast<Side>(slot.side), slot.first);
            }
        }
    }

    // Calls visit(key, side, message) for every message that waits, those of a key in their order.
    template <class Next, class Visit>
    void for_each_message(Next&& next, Visit&& visit) const {
        for (const Slot& slot : slots_) {
            for (u32 message = slot.side == 0 ? none : slot.first; message != none;
                 message = message == slot.last ? none : next(message)) {
                visit(slot.key, static_cast<Side>(slot.side), message);
            }
        }
    }

private:
    struct Slot {
        MatchKey key{};
        u32 first = none;
        u32 last = none;
        u32 side = 0;
    };

    static u64 hash(const MatchKey& key) {
        u64 h = ((u64{key.src} << 32) | key.dst) * 0x9e3779b97f4a7c15u;
        h ^= (key.bytes + (u64{key.tag} << 32)) * 0xc2b2ae3d27d4eb4fu;
        return h ^ (h >> 29);
    }
    u32 home(const MatchKey& key) const {
        return static_cast<u32>(hash(key) & (slots_.size() - 1));
    }
    u32 after(u32 slot) const { return (slot + 1) & static_cast<u32>(slots_.size() - 1); }

    u32 find(const MatchKey& key) const {
        u32 slot = home(key);
        while (slots_[slot].side != 0 && !(slots_[slot].key == key)) {
            slot = after(slot);
        }
        return slot;
    }

    // Removes a slot and closes the gap, so that probing needs no tombstones.
    void erase(u32 gap) {
        --used_;
        for (u32 slot = after(gap); slots_[slot].side != 0; slot = after(slot)) {
            const u32 wanted = home(slots_[slot].key);
            const bool stays = gap <= slot ? (gap < wanted && wanted <= slot)
                                           : (gap < wanted || wanted <= slot);
            if (!stays) {
                slots_[gap] = slots_[slot];
                gap = slot;
            }
        }
        slots_[gap].side = 0;
    }

    void grow() {
        std::vector<Slot> old(slots_.size() * 2);
        old.swap(slots_);
        for (const Slot& slot : old) {
            if (slot.side != 0) {
                slots_[find(slot.key)] = slot;
            }
        }
    }

    std::vector<Slot> slots_;
    std::size_t used_ = 0;
};

}  // namespace yantra
