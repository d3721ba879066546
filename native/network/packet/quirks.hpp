// Faults of the ns-3 fork. Each is off by default; `semantics: ns3-fork` turns all on.
#pragma once

#include <array>
#include <string_view>

#include "base/types.hpp"

namespace yantra::packet {

enum class Quirk : u32 {
    no_retransmission_timer = 1u << 0,
    late_receiver = 1u << 1,
    nanosecond_rounding = 1u << 2,
    headroom_wraps = 1u << 3,
    thin_headroom = 1u << 4,
    pause_for_ever = 1u << 5,
    stale_wake_up = 1u << 6,
    acks_among_data = 1u << 7,
    narrow_telemetry = 1u << 8,
};

struct QuirkLine {
    Quirk quirk;
    std::string_view name;
    std::string_view help;
};

inline constexpr std::array<QuirkLine, 9> quirk_lines{{
    {Quirk::no_retransmission_timer, "no_retransmission_timer",
     "a lost last packet or ACK is never noticed: there is no timer, and duplicates get no answer"},
    {Quirk::late_receiver, "late_receiver", "the receiver hears of its data when the sender has the last ACK"},
    {Quirk::nanosecond_rounding, "nanosecond_rounding", "each packet takes a whole number of ns on each link"},
    {Quirk::headroom_wraps, "headroom_wraps",
     "head rooms larger than the buffer make its threshold 4 GB: no pause, no drop, and no error"},
    {Quirk::thin_headroom, "thin_headroom",
     "a head room of 3 rate delay has no room for packets already begun: short links drop"},
    {Quirk::pause_for_ever, "pause_for_ever", "only a RESUME ends a pause, and one is sent only when a packet leaves"},
    {Quirk::stale_wake_up, "stale_wake_up",
     "a NIC with nothing to send wakes for the earliest of its flows, blocked and ended ones included"},
    {Quirk::acks_among_data, "acks_among_data", "ACKs that overtake data at NICs do not at switches"},
    {Quirk::narrow_telemetry, "narrow_telemetry",
     "telemetry has 24 bits of ns, 20 of 128 B, 17 of 80 B and 5 hops, and more hops are not looked at"},
}};

inline constexpr u32 all_quirks = (1u << quirk_lines.size()) - 1;

}  // namespace yantra::packet
