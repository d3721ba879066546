// A port: the queue and transmitter that feed a directed link. Two priorities: control, which is
// never paused, and data. At a host `waits` has its ACKs, and relayed packets are in `relayed`.
#pragma once

#include "base/types.hpp"
#include "network/packet/ids.hpp"
#include "network/packet/packet.hpp"

namespace yantra::packet {

// In cache lines, by reader.
struct alignas(64) Port {
    PacketQueue control;
    PacketQueue waits;
    PacketQueue relayed;
    bool is_busy = false;
    bool is_paused = false;
    bool is_host = false;
    bool relays_next = false;  // whether relayed packets have the next turn at a host
    bool has_paused = false;   // it made the other end pause
    bool is_down = false;
    bool by_formula = false;   // its packets take no time on the wire, so none waits
    bool is_cut = false;       // its link leads to another part
    u8 threshold_shift = 0;
    u32 of_rate = 0;           // table of transmission times
    u64 delay = 0;
    u64 queue_bytes = 0;       // that wait, of all priorities
    u64 next_look = ~u64{0};   // tick from which a change is noted (network/packet/seen.hpp)

    // What it writes for each packet.
    u64 sent_bytes = 0;        // with headers, of all packets
    u64 payload_bytes = 0;     // of data
    u64 packets = 0;
    u64 busy_ticks = 0;
    u64 last_tick = 0;         // at which the last packet left the queue
    u64 queue_max = 0;
    u32 last_bytes = 0;
    u32 from = none;
    u32 to = none;
    u32 nic = none;            // of the host it is at

    // What a switch reads.
    u64 data_bytes = 0;        // of data waiting to leave
    u64 kmin = 0;
    u64 kmax = 0;
    u64 ingress_bytes = 0;
    u64 headroom_used = 0;
    u64 headroom = 0;
    double pmax = 0.0;
    PortId twin;               // the port back, or none
    u32 pause_timer = none;    // that ends the pause

    u64 bits_per_s = 0;
    double utilisation = 0.0;  // of PINT
    u64 busy_until = 0;        // of a link by formula
    u16 failures = 0;          // how often it went down

    // Counts.
    u64 pauses = 0;            // that it obeyed
    u64 resumes = 0;
    u64 paused_since = 0;
    u64 paused_ticks = 0;
    u64 marks = 0;
    u64 drops = 0;             // of what came over its link

    u64 noted_queue = 0;
    u64 noted_events = 0;      // marks and drops
    bool noted_pause = false;

    bool is_as_noted() const {
        return queue_bytes == noted_queue && is_paused == noted_pause && marks + drops == noted_events;
    }
    void is_noted() {
        noted_queue = queue_bytes;
        noted_pause = is_paused;
        noted_events = marks + drops;
    }
};

}  // namespace yantra::packet
