// Ports, by the link each feeds, and how long packets take on links.
#pragma once

#include <string>
#include <vector>

#include "base/huge_pages.hpp"
#include "network/packet/port.hpp"
#include "network/packet/sender.hpp"
#include "network/packet/settings.hpp"

namespace yantra::packet {

class Ports {
public:
    // Sets senders' line rates.
    Ports(const FabricSpec& fabric, const Settings& settings, Senders& senders);

    Port& operator[](PortId port) { return ports_[port.index()]; }
    const Port& operator[](PortId port) const { return ports_[port.index()]; }
    u32 size() const { return static_cast<u32>(ports_.size()); }
    const HugeVector<Port>& all() const { return ports_; }
    template <class Visit>
    void each(Visit&& visit) const {
        for (u32 port = 0; port < size(); ++port) {
            visit(PortId(port));
        }
    }
    const std::vector<PortId>& leaving(u32 device) const { return leaving_[device]; }
    u32 devices() const { return static_cast<u32>(is_host_.size()); }
    bool is_host(u32 device) const { return is_host_[device]; }

    // 0 is for links by formula, on which packets take no time. Throws std::invalid_argument if the
    // rate is too low.
    u32 table_of(u64 bits_per_s);
    u64 ticks_of(const Port& port, u32 bytes) const {
        const std::vector<u32>& table = tables_[port.of_rate];
        if (bytes < table.size()) {
            return table[bytes];
        }
        return port.by_formula ? 0 : senders_.transmission.ticks(bytes, port.bits_per_s);
    }

private:
    void add(const LinkSpec& spec);

    const Settings& settings_;
    Senders& senders_;
    const std::vector<bool> is_host_;   // by device
    HugeVector<Port> ports_;            // by link
    std::vector<std::vector<PortId>> leaving_;       // by device
    std::vector<std::vector<u32>> tables_;        // transmission times, by rate, by bytes
    std::vector<u64> rates_;                 // of the tables
};

}  // namespace yantra::packet
