// Stretches: which bytes of a flow are there, as disjoint ranges in order. Trade-off: inserting a
// range moves those behind it.
#pragma once

#include <algorithm>
#include <vector>

#include "base/types.hpp"

namespace yantra::packet {

class Stretches {
public:
    struct Stretch {
        u64 from = 0;
        u64 to = 0;   // exclusive
    };

    bool empty() const { return all_.empty(); }
    u64 bytes() const { return bytes_; }
    // Precondition: not empty().
    u64 end() const { return all_.back().to; }
    const std::vector<Stretch>& all() const { return all_; }

    bool has(u64 byte) const {
        const auto at = first_beyond(byte);
        return at != all_.end() && at->from <= byte;
    }

    // Returns how many are new. Precondition: from < to.
    u64 add(u64 from, u64 to) {
        auto at = std::lower_bound(all_.begin(), all_.end(), from, [](const Stretch& s, u64 f) { return s.to < f; });
        u64 there = 0;   // bytes of the ranges that it touches
        auto last = at;
        const u64 first = from;
        for (; last != all_.end() && last->from <= to; ++last) {
            there += last->to - last->from;
            from = std::min(from, last->from);
            to = std::max(to, last->to);
        }
        const u64 added = to - from - there;
        bytes_ += added;
        if (last == at) {
            all_.insert(at, {first, to});
        } else {
            *at = {from, to};
            all_.erase(at + 1, last);
        }
        return added;
    }

    void forget_before(u64 byte) {
        auto at = all_.begin();
        for (; at != all_.end() && at->to <= byte; ++at) {
            bytes_ -= at->to - at->from;
        }
        if (at != all_.end() && at->from < byte) {
            bytes_ -= byte - at->from;
            at->from = byte;
        }
        all_.erase(all_.begin(), at);
    }

    void clear() {
        all_.clear();
        bytes_ = 0;
    }

private:
    std::vector<Stretch>::const_iterator first_beyond(u64 byte) const {
        return std::lower_bound(all_.begin(), all_.end(), byte, [](const Stretch& s, u64 b) { return s.to <= b; });
    }

    std::vector<Stretch> all_;
    u64 bytes_ = 0;
};

}  // namespace yantra::packet
