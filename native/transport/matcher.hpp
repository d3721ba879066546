// Matcher: pairs the k-th send with the k-th receive of the same (tag, source, destination, size);
// different sizes never meet (astra-sim-semantics 0.3). Trade-off: many more buckets than waiting
// keys.
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

    // The key's fields are separate, to avoid padding.
    struct Waiting {
        u64 bytes = 0;
        u32 tag = 0;
        u32 src = 0;
        u32 dst = 0;
        u32 next = none;   // that waits for the same key; of the last, the first
        u32 other = none;  // of the last: that of the next key of its bucket
        Side side = Side::send;

        MatchKey key() const { return {bytes, tag, src, dst}; }
    };

    // Valid until the next message waits or is taken.
    struct Place {
        u32 bucket;
        u32 before;   // the last of the previous key in its bucket, or none
        u32 last;     // that waits for the key, or none
    };

    Matcher() : buckets_(least, none) {}

    template <class At>
    [[gnu::always_inline]] Place find(const MatchKey& key, At&& at) const {
        const u32 bucket = bucket_of(key);
        u32 before = none;
        u32 last = buckets_[bucket];
        while (last != none) {
            const Waiting& found = at(last);
            // With branches the compiler would combine fields in memory.
            if (((found.bytes ^ key.bytes) | (found.tag ^ key.tag) | (found.src ^ key.src) |
                 (found.dst ^ key.dst)) == 0) [[likely]] {
                break;
            }
            before = last;
            last = found.other;
        }
        return {bucket, before, last};
    }

    template <class At>
    [[gnu::always_inline]] u32 take(const Place& place, Side side, At&& at) {
        if (place.last == none || at(place.last).side == side) {
            return none;
        }
        Waiting& last = at(place.last);
        const u32 partner = last.next;
        if (partner == place.last) [[likely]] {
            link_to(place, at) = last.other;
            --used_;
        } else {
            last.next = at(partner).next;
        }
        return partner;
    }

    template <class At>
    [[gnu::always_inline]] void wait(const Place& place, const MatchKey& key, Side side, u32 message, At&& at) {
        Waiting& own = at(message);
        own.bytes = key.bytes;
        own.tag = key.tag;
        own.src = key.src;
        own.dst = key.dst;
        own.next = message;
        own.side = side;
        if (place.last != none) [[unlikely]] {
            Waiting& last = at(place.last);
            own.next = std::exchange(last.next, message);
            own.other = last.other;
            link_to(place, at) = message;
            return;
        }
        own.other = std::exchange(buckets_[place.bucket], message);
        if (++used_ * sparse > buckets_.size()) [[unlikely]] {
            grow(at);
        }
    }

    // Calls visit(first message) for each key.
    template <class At, class Visit>
    void for_each(At&& at, Visit&& visit) const {
        for (u32 last : buckets_) {
            for (; last != none; last = at(last).other) {
                visit(at(last).next);
            }
        }
    }

    // By key and in order.
    template <class At, class Visit>
    void for_each_message(At&& at, Visit&& visit) const {
        for (u32 last : buckets_) {
            for (; last != none; last = at(last).other) {
                u32 message = last;
                do {
                    message = at(message).next;
                    visit(message);
                } while (message != last);
            }
        }
    }

private:
    u32 bucket_of(const MatchKey& key) const {
        // For left shifts the compiler would read more of a field than was written.
        const u64 h = (key.bytes + u64{key.tag} * 0x9e3779b97f4a7c15u) * 0xc2b2ae3d27d4eb4fu +
                      (u64{key.src} * 0xd6e8feb86659fd93u + key.dst) * 0xa0761d6478bd642fu;
        return static_cast<u32>(h >> 32U) & mask_;
    }

    template <class At>
    u32& link_to(const Place& place, At&& at) {
        return place.before == none ? buckets_[place.bucket] : at(place.before).other;
    }

    template <class At>
    [[gnu::noinline]] void grow(At&& at) {
        std::vector<u32> old(buckets_.size() * 2, none);
        old.swap(buckets_);
        mask_ = static_cast<u32>(buckets_.size() - 1);
        for (u32 last : old) {
            while (last != none) {
                Waiting& moved = at(last);
                const u32 next = moved.other;
                moved.other = std::exchange(buckets_[bucket_of(moved.key())], last);
                last = next;
            }
        }
    }

    static constexpr u32 least = 256;   // buckets
    static constexpr u32 sparse = 8;    // buckets for each key, at least

    std::vector<u32> buckets_;   // by hash: the last message of a key, or none
    u32 mask_ = least - 1;       // of a hash, to its bucket
    std::size_t used_ = 0;       // keys
};

}  // namespace yantra
