#include "network/packet/packets.hpp"

#include <algorithm>
#include <utility>

namespace yantra::packet {

u32 header_bytes(const Settings& settings) {
    Senders senders(settings);
    const Scheme& scheme = scheme_named(settings.congestion_control);
    Packets packets(senders, scheme.telemetry);
    packets.count_headers(*scheme.make(senders));
    return packets.data_header();
}

void Packets::count_headers(const CongestionControl& control) {
    const u32 added = control.header_bytes(hops_kept_);
    data_header_ = plain_header + added;
    ack_bytes_ = 2 + std::max<u32>(46, 32 + added);
}

void Packets::keep_hops(u32 hops, const CongestionControl& control) {
    HugeVector<Telemetry> wider(std::size_t{made_} * hops);
    for (u32 packet = 0; packet < made_; ++packet) {
        std::copy_n(telemetry_.begin() + std::size_t{packet} * hops_kept_, hops_kept_,
                    wider.begin() + std::size_t{packet} * hops);
    }
    telemetry_ = std::move(wider);
    hops_kept_ = hops;
    count_headers(control);
}

void Packets::swap(PacketId one, PacketId other) {
    std::swap(pool[one], pool[other]);
    std::swap(pool[one].next, pool[other].next);
    if (has_credits_) {
        std::swap(asked_[one.index()], asked_[other.index()]);
    }
}

void Packets::grow(u32 packets) {
    constexpr std::size_t cached_bytes = std::size_t{1} << 20;
    made_ = packets;
    if (has_hops_) {
        telemetry_.resize(std::size_t{made_} * hops_kept_);
    }
    if (has_credits_) {
        asked_.resize(made_);
    }
    fetches_ = made_ * sizeof(Packet) + senders_.count() * sizeof(Sender) > cached_bytes;
}

}  // namespace yantra::packet
