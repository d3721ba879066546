// What a network declares, so that others name no network.
#pragma once

#include <array>
#include <initializer_list>
#include <string_view>

#include "base/types.hpp"

namespace yantra {

enum class NetworkTrait : u8 {
    charges_latency,
    has_links,
    has_ports,
    stores_messages,
    has_headers,
    on_fabric,
    needs_fabric,
    on_chip,
    links_change,
    takes_background,
    takes_tiers,
    lowest_dimension_only,
};

struct TraitLine {
    NetworkTrait trait;
    std::string_view name;
    std::string_view meaning;
};

inline constexpr std::array network_traits{
    TraitLine{NetworkTrait::charges_latency, "charges_latency", "a message alone takes the latency of its hops"},
    TraitLine{NetworkTrait::has_links, "has_links", "it keeps the use of every link"},
    TraitLine{NetworkTrait::has_ports, "has_ports",
              "messages take turns on the links of ranks, whose use it keeps, unless links carry anything"},
    TraitLine{NetworkTrait::stores_messages, "stores_messages", "a message crosses each link whole before the next one"},
    TraitLine{NetworkTrait::has_headers, "has_headers", "what it sends is longer than the messages"},
    TraitLine{NetworkTrait::on_fabric, "on_fabric", "it can run over a graph of devices and links, too"},
    TraitLine{NetworkTrait::needs_fabric, "needs_fabric", "it runs over a graph alone, which dimensions become"},
    TraitLine{NetworkTrait::on_chip, "on_chip",
              "it is for short links with a clock, and compared with others only where it is named"},
    TraitLine{NetworkTrait::links_change, "links_change", "links may fail or change their rate at stated times"},
    TraitLine{NetworkTrait::takes_background, "takes_background", "it carries traffic of nobody's job"},
    TraitLine{NetworkTrait::takes_tiers, "takes_tiers", "links of some tiers may go by formula"},
    TraitLine{NetworkTrait::lowest_dimension_only, "lowest_dimension_only",
              "it knows the quirk that charges a message for the lowest dimension it crosses"},
};

class NetworkTraits {
public:
    constexpr NetworkTraits() = default;
    constexpr NetworkTraits(std::initializer_list<NetworkTrait> traits) {
        for (const NetworkTrait trait : traits) {
            bits_ |= bit(trait);
        }
    }
    constexpr bool has(NetworkTrait trait) const { return (bits_ & bit(trait)) != 0; }

private:
    static constexpr u32 bit(NetworkTrait trait) { return u32{1} << static_cast<u32>(trait); }

    u32 bits_ = 0;
};

}  // namespace yantra
