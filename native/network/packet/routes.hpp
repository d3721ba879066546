// Routes: sequences of links, and what a flow over them takes.
#pragma once

#include <span>
#include <vector>

#include "base/huge_pages.hpp"
#include "network/packet/packet.hpp"
#include "network/packet/ports.hpp"

namespace yantra::packet {

class Routes {
public:
    Routes(const Settings& settings, const Senders& senders, const Ports& ports)
        : settings_(settings), senders_(senders), ports_(ports) {}

    u32 add(std::span<const u32> links);
    // Returns the number of the first.
    u32 add_ways(std::span<const u32> routes);
    u32 way(u32 number) const { return ways_[number]; }
    // Valid until another is added.
    std::span<const u32> links_of(u32 route) const;
    // None at the end of each.
    LinkId operator[](u32 place) const { return LinkId(links_[place]); }

    // Whether the route ends with them.
    bool read(u32 place, LinksAhead& into) const;
    void read_on(Packet& packet) const;
    bool has_next_link(Packet& packet) const {
        if (packet.ahead[0] == not_read) [[unlikely]] {
            read_on(packet);
        }
        return !packet.ahead[0].is_none();
    }

    u64 latency(u32 route) const;
    u64 base_rtt(u32 route) const;      // ticks
    u64 window_of(u32 route) const;     // bytes
    // One packet on each link and the others behind it on the narrowest, with headers.
    u64 alone(u64 bytes, u32 route) const;
    u32 most_links() const { return most_links_; }
    u64 largest_rtt() const { return largest_rtt_; }
    u64 largest_window() const { return largest_window_; }

private:
    const Settings& settings_;
    const Senders& senders_;
    const Ports& ports_;
    HugeVector<u32> links_;   // each route ended by none
    std::vector<u32> ways_;        // routes to spray over
    u32 most_links_ = 0;
    u64 largest_rtt_ = 0;
    u64 largest_window_ = 0;
};

}  // namespace yantra::packet
