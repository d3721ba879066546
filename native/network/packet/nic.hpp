// A NIC's list of senders, round robin; one that has ended leaves when met, and the place served
// last keeps its number, as in the ns-3 fork. A search looks only at those that may send
// (network/packet/ready.hpp).
#pragma once

#include <algorithm>
#include <functional>
#include <utility>
#include <vector>

#include "network/packet/sender.hpp"

namespace yantra::packet {

class Nic {
public:
    void add(Senders& all, SenderId sender) {
        all.place_of(sender) = static_cast<u32>(senders_.size());
        senders_.push_back(sender);
        all.touch(sender);
    }

    // Precondition: it is there, and has not ended.
    void remove(Senders& all, Ready& ready, SenderId sender) {
        const u32 count = static_cast<u32>(senders_.size());
        const u32 place = all.place_of(sender);
        for (u32 at = place + 1; at < count; ++at) {
            senders_[at - 1] = senders_[at];
            all.place_of(senders_[at - 1]) = at - 1;
            ready.has(at) ? ready.set(at - 1) : ready.clear_if_there(at - 1);
        }
        ready.clear_if_there(count - 1);
        senders_.pop_back();
        all.place_of(sender) = none;
        if (last_ >= place && last_ > 0) {
            --last_;
        }
    }

    // None while data is paused. `ended` is called for each that leaves the list.
    template <class Ended>
    SenderId next(Senders& all, Ready& ready, bool is_paused, Ended&& ended) {
        const u32 count = static_cast<u32>(senders_.size());
        if (count == 0 || (is_paused && ready.ended == 0)) {
            return SenderId::none;
        }
        wake(all);
        u32 first_ended = none;
        const u32 begin = last_ + 1 < count ? last_ + 1 : (last_ + 1) % count;
        u32 found = search(all, ready, begin, count, is_paused, first_ended);
        if (found == none) {
            found = search(all, ready, 0, begin, is_paused, first_ended);
        }
        if (first_ended != none) {
            found = close_up(all, ready, first_ended, found, ended);
        }
        if (found == none) {
            return SenderId::none;
        }
        last_ = found;
        return senders_[found];
    }

    // ~0: never.
    u64 next_available(const Senders& all, const Ready& ready, bool of_all) {
        u64 least = ~u64{0};
        if (of_all) {
            for (SenderId number : senders_) {
                least = std::min(least, all[number].next_available);
            }
            return least;
        }
        while (!waiting_.empty() && !is_waiting(all, waiting_.front())) {
            drop_first();
        }
        if (!waiting_.empty()) {
            least = waiting_.front().tick;
        }
        const u32 count = static_cast<u32>(senders_.size());
        for (u32 at = ready.from(0, count); at < count; at = ready.from(at + 1, count)) {
            const Sender& sender = all[senders_[at]];
            least = sender.can_send() ? std::min(least, sender.next_available) : least;
        }
        return least;
    }

    const std::vector<SenderId>& senders() const { return senders_; }   // in their order
    u32 last() const { return last_; }

    SenderId likely_next(const Ready& ready) const {
        const u32 count = static_cast<u32>(senders_.size());
        const u32 begin = last_ + 1 < count ? last_ + 1 : 0;
        const u32 at = ready.from(begin, count);
        return at < count ? senders_[at] : SenderId::none;
    }

private:
    struct Waiting {
        u64 tick;
        SenderId sender;
        u32 serial;

        bool operator>(const Waiting& other) const { return tick > other.tick; }
    };

    static bool is_waiting(const Senders& all, const Waiting& of) {
        const Sender& sender = all[of.sender];
        return sender.serial == of.serial && sender.can_send() && sender.next_available == of.tick;
    }

    void drop_first() {
        std::pop_heap(waiting_.begin(), waiting_.end(), std::greater<>());
        waiting_.pop_back();
    }

    void wake(Senders& all) {
        while (!waiting_.empty() && waiting_.front().tick <= all.now()) {
            const Waiting of = waiting_.front();
            drop_first();
            if (all[of.sender].serial == of.serial && !all[of.sender].has_ended) {
                all.touch(of.sender);
            }
        }
    }

    u32 search(Senders& all, Ready& ready, u32 at, u32 end, bool is_paused, u32& first_ended) {
        const u64 now = all.now();
        for (at = ready.from(at, end); at < end; at = ready.from(at + 1, end)) {
            const SenderId number = senders_[at];
            const Sender& sender = all[number];
            if (sender.has_ended) {
                first_ended = std::min(first_ended, at);
            } else if (!sender.can_send()) {
                ready.clear(at);
            } else if (sender.next_available > now) {
                ready.clear(at);
                waiting_.push_back({sender.next_available, number, sender.serial});
                std::push_heap(waiting_.begin(), waiting_.end(), std::greater<>());
            } else if (!is_paused) {
                return at;
            }
        }
        return none;
    }

    template <class Ended>
    u32 close_up(Senders& all, Ready& ready, u32 from, u32 found, Ended& ended) {
        u32 to = from;
        const u32 count = static_cast<u32>(senders_.size());
        for (u32 at = from; at < count; ++at) {
            const SenderId sender = senders_[at];
            const bool is_ready = ready.has(at);
            if (is_ready && all[sender].has_ended) {   // those that have ended are ready
                --ready.ended;
                ended(sender);
                continue;
            }
            if (at == found) {
                found = to;
            }
            all.place_of(sender) = to;
            is_ready ? ready.set(to) : ready.clear(to);
            senders_[to++] = sender;
        }
        for (u32 at = to; at < count; ++at) {
            ready.clear(at);
        }
        senders_.resize(to);
        if (to == 0 && all.settings.quirks == 0) {
            last_ = 0;   // so that it has no memory
        }
        return found;
    }

    std::vector<SenderId> senders_;
    std::vector<Waiting> waiting_;   // a heap, the earliest first
    u32 last_ = 0;
};

}  // namespace yantra::packet
