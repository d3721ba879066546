// A NIC's list of senders, served in turn.
//
// Round robin from the one behind that served last. Senders that have ended leave the list when the search comes
// across one: those behind close up, and the place served last keeps its number, as in the ns-3 fork.
#pragma once

#include <vector>

#include "network/packet/sender.hpp"

namespace yantra::packet {

class Nic {
public:
    void add(u32 sender) { senders_.push_back(sender); }

    // The sender whose turn it is, or none: none sends while data is paused. `ended` is called for each that leaves
    // the list.
    template <class Ended>
    u32 next(Senders& all, bool is_paused, Ended&& ended) {
        const u32 count = static_cast<u32>(senders_.size());
        const u64 now = all.now();
        u32 found = none;
        u32 first_ended = none;
        u32 at = last_;
        for (u32 step = 0; step < count; ++step) {
            at = at + 1 < count ? at + 1 : (at + 1) % count;
            const Sender& sender = all[senders_[at]];
            if (!is_paused && sender.can_send()) {
                if (sender.next_available <= now) {
                    found = at;
                    break;
                }
            } else if (sender.has_ended) {
                first_ended = at < first_ended ? at : first_ended;
            }
        }
        if (first_ended != none) {
            found = close_up(all, first_ended, found, ended);
        }
        if (found == none) {
            return none;
        }
        last_ = found;
        return senders_[found];
    }

    // When the earliest of them may send: of all, or of those that only wait for their time. ~0 for never.
    u64 next_available(const Senders& all, bool of_all) const {
        u64 least = ~u64{0};
        for (u32 number : senders_) {
            const Sender& sender = all[number];
            if (of_all || sender.can_send()) {
                least = std::min(least, sender.next_available);
            }
        }
        return least;
    }

private:
    template <class Ended>
    u32 close_up(Senders& all, u32 from, u32 found, Ended& ended) {
        u32 to = from;
        const u32 count = static_cast<u32>(senders_.size());
        for (u32 at = from; at < count; ++at) {
            const u32 sender = senders_[at];
            if (all[sender].has_ended) {
                ended(sender);
                continue;
            }
            if (at == found) {
                found = to;
            }
            senders_[to++] = sender;
        }
        senders_.resize(to);
        return found;
    }

    std::vector<u32> senders_;
    u32 last_ = 0;
};

}  // namespace yantra::packet
