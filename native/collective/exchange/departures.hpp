// Departures: messages that leave in one tick, sent together by one loop. Trade-off: until leave()
// nothing else may be scheduled for their ticks (engine/event_row.hpp).
#pragma once

#include "collective/exchange/packets.hpp"
#include "engine/engine.hpp"
#include "engine/event_row.hpp"
#include "transport/transport.hpp"

namespace yantra::exchange::inline YANTRA_RUN {

class Departures {
public:
    // At most `most` will leave, with the packets of `first`.
    Departures(Engine& engine, Transport& transport, std::vector<OverLink>& over_links, const Packets& first, u32 most)
        : transport_(transport),
          over_links_(over_links),
          by_way_(first.way.use != nullptr),
          bytes_(first.send_bytes),
          now_(engine.now()),
          row_(engine.queue, most) {
        over_links_.clear();
    }

    bool are_by_way() const { return by_way_; }
    bool take(const Packets& x) const {
        return by_way_ ? x.way.use != nullptr : x.link != none && x.send_bytes == bytes_;
    }
    // Precondition: it takes them.
    [[gnu::always_inline]] void add(const Packets& x, Notice arrived) {
        if (!by_way_) {
            over_links_.push_back(x.over_link(arrived));
            return;
        }
        messages_ += x.ranks;
        x.way.use->bytes += x.send_bytes * x.ranks;
        x.way.use->messages += x.ranks;
        row_.schedule(now_ + x.way.ticks, arrived.kind, arrived.index);
    }
    void leave() {
        if (by_way_) {
            row_.flush();
            transport_.count(messages_);
        } else {
            transport_.pass_over_links(over_links_, bytes_);
        }
    }
    // The same if nothing else happens in this tick and ranks are distinct.
    void leave_as_round() {
        if (by_way_) {
            leave();
        } else {
            transport_.pass_round(over_links_, bytes_);
        }
    }

private:
    Transport& transport_;
    std::vector<OverLink>& over_links_;
    const bool by_way_;
    const u64 bytes_;
    const u64 now_;
    u64 messages_ = 0;
    EventRow row_;
};

}  // namespace yantra::exchange
