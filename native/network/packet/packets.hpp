// Packets: those under way, and what switches write in them.
#pragma once

#include <algorithm>
#include <span>
#include <vector>

#include "base/huge_pages.hpp"
#include "base/pool.hpp"
#include "network/packet/congestion_control.hpp"
#include "network/packet/packet.hpp"
#include "network/packet/sender.hpp"

namespace yantra::packet {

inline constexpr u32 plain_header = 36;   // of data, without what a congestion control adds
inline constexpr u32 pause_bytes = 31;
inline constexpr u32 trimmed_bytes = 64;

// Of a packet of data.
u32 header_bytes(const Settings& settings);

class Packets {
public:
    Packets(const Senders& senders, TelemetryKind telemetry)
        : senders_(senders), has_hops_(telemetry == TelemetryKind::hops), has_credits_(senders.settings.credits != 0) {}

    Packet& operator[](PacketId packet) { return pool[packet]; }
    const Packet& operator[](PacketId packet) const { return pool[packet]; }
    // The caller fills it in.
    PacketId take() {
        const PacketId made = pool.take_as_left();
        if (made.index() >= made_) [[unlikely]] {
            grow(made.index() + 1);
        }
        return made;
    }
    void give_back(PacketId packet) { pool.give_back(packet); }

    u32 hops_kept() const { return hops_kept_; }
    void keep_hops(u32 hops, const CongestionControl& control);
    void count_headers(const CongestionControl& control);
    Telemetry& telemetry_at(PacketId packet, u32 hop) {
        return telemetry_[std::size_t{packet.index()} * hops_kept_ + hop % hops_kept_];
    }
    std::span<const Telemetry> telemetry_of(PacketId packet, u32 hops) const {
        return {telemetry_.data() + std::size_t{packet.index()} * hops_kept_, std::min(hops, hops_kept_)};
    }
    // Of a packet on its way; empty unless switches write some.
    std::span<Telemetry> all_telemetry_of(PacketId packet) {
        const std::size_t each = has_hops_ ? hops_kept_ : 0;
        return {telemetry_.data() + std::size_t{packet.index()} * each, each};
    }
    // With credits: up to where a packet of data asks, in bytes of its message and what it sends again.
    u64& asked_by(PacketId packet) { return asked_[packet.index()]; }
    // But for their queues.
    void swap(PacketId one, PacketId other);
    u32 data_header() const { return data_header_; }
    u32 ack_bytes() const { return ack_bytes_; }
    // All pairs of 128 hosts take 1.5 times as long without; a permutation of 16 takes 1.14 times
    // as long with it.
    bool fetches() const { return fetches_; }

    PacketPool pool;

private:
    void grow(u32 packets);

    const Senders& senders_;
    const bool has_hops_;
    const bool has_credits_;
    bool fetches_ = false;
    u32 made_ = 0;
    u32 hops_kept_ = 5;
    u32 data_header_ = 0;
    u32 ack_bytes_ = 0;
    HugeVector<Telemetry> telemetry_;   // by packet, `hops_kept_` of each
    std::vector<u64> asked_;            // by packet
};

}  // namespace yantra::packet
