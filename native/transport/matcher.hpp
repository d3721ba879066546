// Matcher: pairs the k-th send with the k-th receive of the same (tag, source, destination, size).
//
// An open-addressing table holds only keys with something waiting, so it stays as small as the
// traffic in flight; upstream's counters grow for the whole run. A slot is a hash and the message that
// waits last: eight bytes, so the table of a hundred thousand keys fits a cache. The keys lie in the
// messages, which are touched anyway. Size is part of the key: a send and a receive of different sizes
// never meet (astra-sim-semantics 0.3).
#pragma once

#include <utility>
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

    // What a message holds for the matcher, while it waits.
    struct Waiting {
        MatchKey key{};
        u32 next = none;   // that waits for the same key; of the last, the first
        Side side = Side::send;
    };

    // Where a key is, or would be. It holds until the next message waits or is taken.
    struct Place {
        u32 slot;
        u32 hash;
    };

    Matcher() : slots_(64) {}

    // In all that follows, at(message) is the Waiting of a message.
    template <class At>
    [[gnu::always_inline]] Place find(const MatchKey& key, At&& at) const {
        const u32 hash = hash_of(key);
        u32 slot = home(hash);
        for (;; slot = after(slot)) {
            const Slot found = slots_[slot];
            if (found.last == none) {
                break;
            }
            if (found.hash == hash) [[likely]] {
                const MatchKey& other = at(found.last).key;
                // Without branches, for which the compiler would put two fields together in memory.
                if (((other.bytes ^ key.bytes) | (other.tag ^ key.tag) | (other.src ^ key.src) |
                     (other.dst ^ key.dst)) == 0) [[likely]] {
                    break;
                }
            }
        }
        return {slot, hash};
    }

    // The message that waits longest on the other side of `side`, removed; or none.
    template <class At>
    u32 take(Place place, Side side, At&& at) {
        const u32 last = slots_[place.slot].last;
        if (last == none || at(last).side == side) {
            return none;
        }
        const u32 partner = at(last).next;
        if (partner == last) [[likely]] {
            erase(place.slot);
        } else {
            at(last).next = at(partner).next;
        }
        return partner;
    }

    // The message waits, where nobody of the other side does.
    template <class At>
    void wait(Place place, const MatchKey& key, Side side, u32 message, At&& at) {
        // Field by field: a value that is built first and copied stalls on its own fresh stores.
        Waiting& own = at(message);
        own.key.bytes = key.bytes;
        own.key.tag = key.tag;
        own.key.src = key.src;
        own.key.dst = key.dst;
        own.next = message;
        own.side = side;
        Slot& found = slots_[place.slot];
        if (found.last != none) [[unlikely]] {
            own.next = std::exchange(at(found.last).next, message);
            found.last = message;
            return;
        }
        found.hash = place.hash;
        found.last = message;
        if (++used_ * 2 > slots_.size()) [[unlikely]] {
            grow();
        }
    }

    // Calls visit(first message) for every key that waits.
    template <class At, class Visit>
    void for_each(At&& at, Visit&& visit) const {
        for (const Slot& slot : slots_) {
            if (slot.last != none) {
                visit(at(slot.last).next);
            }
        }
    }

    // Calls visit(message) for every message that waits, those of a key in their order.
    template <class At, class Visit>
    void for_each_message(At&& at, Visit&& visit) const {
        for (const Slot& slot : slots_) {
            if (slot.last == none) {
                continue;
            }
            u32 message = slot.last;
            do {
                message = at(message).next;
                visit(message);
            } while (message != slot.last);
        }
    }

private:
    struct Slot {
        u32 hash = 0;
        u32 last = none;   // that waits, of a ring from the first to it; none: the slot is free
    };

    static u32 hash_of(const MatchKey& key) {
        // No shifts to the left: of a field that lies in memory the compiler would read more than was written.
        const u64 h = (key.bytes + u64{key.tag} * 0x9e3779b97f4a7c15u) * 0xc2b2ae3d27d4eb4fu +
                      (u64{key.src} * 0xd6e8feb86659fd93u + key.dst) * 0xa0761d6478bd642fu;
        return static_cast<u32>(h >> 32U);
    }
    u32 home(u32 hash) const { return hash & static_cast<u32>(slots_.size() - 1); }
    u32 after(u32 slot) const { return (slot + 1) & static_cast<u32>(slots_.size() - 1); }

    // Frees a slot and closes the gap, so that probing needs no tombstones.
    void erase(u32 gap) {
        --used_;
        for (u32 slot = after(gap); slots_[slot].last != none; slot = after(slot)) {
            const u32 wanted = home(slots_[slot].hash);
            const bool stays = gap <= slot ? (gap < wanted && wanted <= slot)
                                           : (gap < wanted || wanted <= slot);
            if (!stays) {
                slots_[gap] = slots_[slot];
                gap = slot;
            }
        }
        slots_[gap].last = none;
    }

    void grow() {
        std::vector<Slot> old(slots_.size() * 2);
        old.swap(slots_);
        for (const Slot& slot : old) {
            if (slot.last == none) {
                continue;
            }
            u32 at = home(slot.hash);
            while (slots_[at].last != none) {
                at = after(at);
            }
            slots_[at] = slot;
        }
    }

    std::vector<Slot> slots_;
    std::size_t used_ = 0;
};

}  // namespace yantra
