// Settings of a packet network, with sizes of RoCE v2 as in the ns-3 fork. Rates are whole bits per
// second, times ticks.
#pragma once

#include <cmath>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "base/types.hpp"
#include "network/packet/quirks.hpp"
#include "network/packet/recovery_kind.hpp"

namespace yantra::packet {

// Other rates have those of the nearest entry, in proportion.
struct MarkLimits {
    double gbps = 0.0;
    double kmin_bytes = 0.0;
    double kmax_bytes = 0.0;
    double pmax = 0.0;
};

// Whether steps that repeat are simulated once (network/packet/repeats.hpp).
enum class Skip : u8 { if_possible, never, required };

// network/packet/seen.hpp.
enum class Look : u8 { nothing, samples, changes };

struct Settings {
    std::string congestion_control = "none";
    std::map<std::string, double> options;   // of the congestion control, as given
    u32 quirks = 0;
    u64 seed = 0;

    u32 payload_bytes = 1000;
    bool has_window = true;          // one bandwidth-delay product, or as the congestion control says
    bool variable_window = false;    // in proportion to the rate
    bool one_window = false;         // all have the network's largest window and round trip
    bool paces_at_rate = true;       // else at the line's rate
    bool acks_first = false;         // ACKs overtake data and are never paused
    RecoveryKind recovery = RecoveryKind::go_back_n;
    u32 reordering = 1;              // with selective repeat: packets beyond a gap that prove a loss; 0: none do
    u32 entropies = 16;              // ways over which a message's packets are sprayed, if the routing does so
    std::string queue = "fifo";      // discipline of switches
    bool trims = false;              // what finds no room loses its payload, and its header goes first
    u64 port_buffer_bytes = 0;       // of data that a switch's port holds; 0: as the shared buffer allows
    u64 ack_every_bytes = 0;         // with selective repeat: received bytes that an ACK waits for; 0: each has one
    u64 credits = 0;                 // packets that a receiver grants at a time (network/packet/credits.hpp); 0: it does not
    double credit_rate = 0.99;       // of its port's
    double credit_window = 1.5;      // bandwidth-delay products of credit at most
    u64 short_message = 0;           // messages of up to so many bytes are of class 0, others of class 1
    u64 buffer_bytes = u64{32} << 20;   // of a switch, if its links do not say
    bool pauses = true;              // PFC
    bool marks = true;               // ECN
    std::vector<MarkLimits> limits;
    double retransmission_ns = 1e6;  // after which silence is a loss
    double pause_ns = 1e6;           // after which a pause ends, unless it is renewed
    bool tells_crossings = false;    // the observer hears of each data packet on each link
    Skip skip = Skip::if_possible;
    Look look = Look::nothing;
    double look_every_ns = 0.0;      // 0: chosen to keep samples few
    double sweep_every_ns = 0.0;     // between two looks at all switches' queues; 0: none
    double sweep_from_ns = 0.0;      // the first
    u64 window_bytes = 0;            // of each message; 0: its bandwidth-delay product
    double base_rtt_ns = 0.0;        // of each message; 0: that of its way
    double max_rtt_ns = 0.0;         // of the network, for PINT; 0: the largest of its flows

    bool has(Quirk quirk) const { return (quirks & static_cast<u32>(quirk)) != 0; }
    u64 ticks_per_ns() const { return has(Quirk::nanosecond_rounding) ? 1 : 1000; }
    double option(const std::string& name, double fallback) const {
        const auto found = options.find(name);
        return found == options.end() ? fallback : found->second;
    }
    MarkLimits limits_of(u64 bits_per_s) const;
};

inline MarkLimits Settings::limits_of(u64 bits_per_s) const {
    const double gbps = static_cast<double>(bits_per_s) / 1e9;
    const MarkLimits* nearest = nullptr;
    for (const MarkLimits& entry : limits) {
        if (nearest == nullptr ||
            std::abs(std::log(entry.gbps / gbps)) < std::abs(std::log(nearest->gbps / gbps))) {
            nearest = &entry;
        }
    }
    if (nearest == nullptr) {
        return {gbps, 0.0, 0.0, 0.0};
    }
    const double scale = gbps / nearest->gbps;
    return {gbps, nearest->kmin_bytes * scale, nearest->kmax_bytes * scale, nearest->pmax};
}

struct LinkSpec {
    u32 from = 0;   // devices
    u32 to = 0;
    u64 bits_per_s = 0;
    u64 delay = 0;  // ticks
    u32 twin = none;   // the link back
    bool by_formula = false;   // packets cross it in its latency, whatever else does
};

struct FabricSpec {
    std::vector<bool> is_host;          // by device
    std::vector<u64> buffer_bytes;      // by device; 0: as in the settings
    std::vector<LinkSpec> links;
    std::function<std::string(u32)> name = [](u32 device) { return "switch " + std::to_string(device); };
};

}  // namespace yantra::packet
