// Periods: streams of packets that move as those before are not simulated one by one. Proof: what follows
// depends on the state alone (network/packet/state.hpp), of which how many bytes flows have sent decides
// but two things: when they end, and, in KiB, who goes first in a tick. So if two moments have one state
// but for bytes, of which all flows sent as many, a whole number of KiB, then what follows the second
// follows the first again, as long as no flow ends and nothing is sent. Trade-off: streams of one pace only.
#pragma once

#include <optional>
#include <vector>

#include "network/packet/simulator.hpp"

namespace yantra::packet {

class Periods {
public:
    explicit Periods(Simulator& simulator);

    // Call after each event. True: leap() may pay.
    bool is_found() {
        if (reference_.is_none() || !sends_now()) [[likely]] {
            return reference_.is_none() && simulator_.events() >= next_look_ && begin();
        }
        return look();
    }
    // Nothing is sent or heard from elsewhere before `until`.
    void leap(u64 until);

private:
    struct Stream {
        SenderId sender;
        u32 serial = 0;
        u64 acknowledged = 0;
    };
    struct Moment {
        StateHash::Value state;
        u64 tick = 0;
        u64 chances = 0;
        AllCounts counts;
        std::vector<Stream> streams;
    };
    struct Period {
        u64 ticks = 0;
        u64 bytes = 0;      // of each stream
        AllCounts counts;
    };

    bool begin();
    // The reference has sent a packet more, this tick is over, and it is time to look.
    bool sends_now();
    bool look();
    Moment moment(u64& words) const;
    std::optional<Period> between(const Moment& before, const Moment& now) const;

    Simulator& simulator_;
    const u64 every_;            // packets of a flow, after which its bytes are whole KiB again
    SenderId reference_;         // states are compared as it sends
    u32 serial_ = 0;
    u64 sent_ = 0;               // packets of it
    u64 next_look_ = 0;          // events
    std::optional<Moment> kept_;
    u64 kept_at_ = 0;            // packets of the reference
    u32 tries_ = 0;              // since then
    u32 most_tries_ = 1;
    std::optional<Period> found_;
};

}  // namespace yantra::packet
