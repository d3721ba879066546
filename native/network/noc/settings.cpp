#include "network/noc/settings.hpp"

#include <stdexcept>

#include "network/noc/router.hpp"
#include "network/noc/routing.hpp"

namespace yantra::noc {

namespace {

constexpr u32 most_vcs = 64;   // a set of them is one word
constexpr u32 most_buffer_flits = 1u << 16;
constexpr u32 most_packet_flits = 1u << 20;
constexpr u32 most_router_cycles = 1u << 10;
constexpr u32 most_link_cycles = 1u << 16;
constexpr u64 most_slots = u64{1} << 28;   // of all buffers: 1 GiB

void check_range(const char* name, u64 value, u64 most) {
    if (value < 1 || value > most) {
        throw std::invalid_argument(std::string(name) + ": 1 to " + std::to_string(most) + " is expected, not " +
                                    std::to_string(value));
    }
}

template <class List>
void check_name(const char* what, const std::string& name, const List& list) {
    std::string known;
    for (const auto& one : list) {
        if (one.name == name) {
            return;
        }
        known.append(known.empty() ? "" : ", ").append(one.name);
    }
    throw std::invalid_argument(std::string(what) + ": expected one of " + known + ", not '" + name + "'");
}

}  // namespace

void check(const Settings& settings) {
    check_range("vcs", settings.vcs, most_vcs);
    check_range("buffer_flits", settings.buffer_flits, most_buffer_flits);
    check_range("packet_flits", settings.packet_flits, most_packet_flits);
    check_range("router_cycles", settings.router_cycles, most_router_cycles);
    for (const Dimension& dimension : settings.dimensions) {
        check_range("link_cycles", dimension.link_cycles, most_link_cycles);
    }
    check_name("router", settings.router, routers());
    check_name("routing", settings.routing, routings());
    if (settings.router_cycles != 1 && !find_router(settings.router)->takes_cycles) {
        throw std::invalid_argument("router_cycles: a router " + settings.router + " has stages of its own, of one "
                                    "cycle each; take router one_stage to set them");
    }
    const Shape shape(settings.dimensions, settings.nodes_per_router);
    if (u64{shape.routers()} * shape.ports() * settings.vcs * settings.buffer_flits > most_slots) {
        throw std::invalid_argument("sizes, vcs and buffer_flits: buffers of " + std::to_string(most_slots) +
                                    " flits in all are expected at most");
    }
}

}  // namespace yantra::noc
