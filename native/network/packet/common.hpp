// What all parts of the simulator share.
#pragma once

#include <memory>
#include <vector>

#include "network/packet/border.hpp"
#include "network/packet/congestion_control.hpp"
#include "network/packet/flow_spec.hpp"
#include "network/packet/packets.hpp"
#include "network/packet/part.hpp"
#include "network/packet/ports.hpp"
#include "network/packet/routes.hpp"
#include "network/packet/seen.hpp"
#include "network/packet/sender.hpp"
#include "network/packet/settings.hpp"

namespace yantra::packet {

struct Progress {
    u32 active = 0;        // flows that have begun and have not ended
    u32 unfinished = 0;    // the active ones, and flows sent that have not begun
    u64 last = 0;          // tick of the last progress in acknowledgements
    u64 drops = 0;         // up to that tick
    u32 cut = 0;           // senders whose ways are all down
};

// Transmissions that have begun, so that they can be undone in copies of ports.
struct Begun {
    // A port before it.
    struct Before {
        u64 tick = 0;   // at which it began
        u64 busy_ticks = 0;
        u64 last_tick = 0;
        u64 packets = 0;
        u32 last_bytes = 0;
        LinkId link;
    };

    void note(const Port& port, LinkId link, u64 now) {
        all.push_back({now, port.busy_ticks, port.last_tick, port.packets, port.last_bytes, link});
    }
    void undo(u64 after, HugeVector<Port>& ports) const {
        for (auto of = all.rbegin(); of != all.rend() && of->tick > after; ++of) {
            Port& port = ports[of->link.index()];
            port.busy_ticks = of->busy_ticks;
            port.last_tick = of->last_tick;
            port.packets = of->packets;
            port.last_bytes = of->last_bytes;
        }
    }

    bool are_kept = false;
    std::vector<Before> all;
};

struct Common {
    // Throws std::invalid_argument for impossible settings.
    Common(const FabricSpec& fabric, const Settings& settings, Observer& observer, const Part& part = {});

    u64 now() const { return senders.now(); }
    // Whether silence is a loss.
    bool has_timers() const { return can_lose && !settings.has(Quirk::no_retransmission_timer); }
    // To another part, by a link that is cut.
    void cross(PacketId packet, u32 device, u64 tick);

    const Settings settings;
    const Scheme& scheme;
    Observer& observer;
    Senders senders;               // and the clock
    Border border;
    Ports ports;
    const std::shared_ptr<Routes> all_routes;
    Routes& routes;
    Packets packets;
    const std::unique_ptr<CongestionControl> control;
    Totals totals;
    Progress progress;
    bool can_lose = false;         // packets; else silence is no loss
    bool links_change = false;     // some link has changed
    Begun begun;
};

}  // namespace yantra::packet
