#include "network/packet/routes.hpp"

#include <algorithm>

#include "network/packet/packets.hpp"

namespace yantra::packet {

u32 Routes::add(std::span<const u32> links) {
    const u32 at = static_cast<u32>(links_.size());
    links_.insert(links_.end(), links.begin(), links.end());
    links_.push_back(none);
    most_links_ = std::max(most_links_, static_cast<u32>(links.size()));
    largest_rtt_ = std::max(largest_rtt_, base_rtt(at));
    largest_window_ = std::max(largest_window_, window_of(at));
    return at;
}

u32 Routes::add_ways(std::span<const u32> routes) {
    const u32 first = static_cast<u32>(ways_.size());
    ways_.insert(ways_.end(), routes.begin(), routes.end());
    return first;
}

std::span<const u32> Routes::links_of(u32 route) const {
    std::size_t links = 0;
    while (links_[route + links] != none) {
        ++links;
    }
    return {links_.data() + route, links};
}

bool Routes::read(u32 place, LinksAhead& into) const {
    bool has_ended = false;
    for (LinkId& link : into) {
        link = has_ended ? LinkId::none : LinkId(links_[place++]);
        has_ended = has_ended || link.is_none();
    }
    return has_ended || links_[place] == none;
}

void Routes::read_on(Packet& packet) const {
    packet.is_all_ahead = read(packet.route, packet.ahead);
    packet.route += static_cast<u32>(packet.ahead.size());
}

u64 Routes::latency(u32 route) const {
    u64 ticks = 0;
    for (u32 link : links_of(route)) {
        ticks += ports_[LinkId(link)].delay;
    }
    return ticks;
}

u64 Routes::base_rtt(u32 route) const {
    u64 delay = 0;
    u64 sending = 0;
    for (u32 link : links_of(route)) {
        const Port& port = ports_[LinkId(link)];
        delay += port.delay;
        if (!port.by_formula) {
            sending += static_cast<u64>(static_cast<unsigned __int128>(settings_.payload_bytes) * 8 * 1000000000u *
                                        senders_.ticks_per_ns / port.bits_per_s);
        }
    }
    return 2 * delay + sending;
}

u64 Routes::window_of(u32 route) const {
    u64 slowest = ~u64{0};
    for (u32 link : links_of(route)) {
        slowest = std::min(slowest, ports_[LinkId(link)].bits_per_s);
    }
    const auto bits = static_cast<unsigned __int128>(base_rtt(route)) * slowest;
    return static_cast<u64>(bits / (u64{1000000000} * senders_.ticks_per_ns) / 8);
}

u64 Routes::alone(u64 bytes, u32 route) const {
    const u64 payload = settings_.payload_bytes;
    const u64 full = bytes / payload;
    const u64 last = bytes % payload;
    const u64 first = (full > 0 ? payload : last) + plain_header;
    u64 ticks = 0;
    u64 narrowest = ~u64{0};
    for (u32 link : links_of(route)) {
        const Port& port = ports_[LinkId(link)];
        ticks += port.delay + (port.by_formula ? 0 : senders_.transmission.ticks(first, port.bits_per_s));
        narrowest = std::min(narrowest, port.bits_per_s);
    }
    if (full > 1) {
        ticks += (full - 1) * senders_.transmission.ticks(payload + plain_header, narrowest);
    }
    return ticks + (full > 0 && last > 0 ? senders_.transmission.ticks(last + plain_header, narrowest) : 0);
}

}  // namespace yantra::packet
