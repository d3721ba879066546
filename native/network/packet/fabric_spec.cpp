#include "network/packet/fabric_spec.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <stdexcept>
#include <utility>
#include <vector>

namespace yantra::packet {

namespace {

// For a link of unlimited rate: 8 ps for a packet.
constexpr double free_bits_per_s = 1e15;

u64 bits_of(const FabricGraph& graph, u32 link) {
    const double bits = std::isinf(graph.bytes_per_ns(link)) ? free_bits_per_s : graph.bytes_per_ns(link) * 8e9;
    if (!(bits >= 1e6 && bits <= free_bits_per_s)) {
        throw std::invalid_argument(graph.link_name(link) +
                                    ": packets need a rate of 1 Mb/s to 1 Pb/s; give the link one");
    }
    return static_cast<u64>(std::llround(bits));
}

}  // namespace

FabricSpec spec_of(const FabricGraph& graph, const Settings& settings, const std::vector<bool>& by_formula) {
    FabricSpec spec;
    spec.name = [&graph](u32 device) { return graph.name(device); };
    spec.is_host.resize(graph.devices());
    spec.buffer_bytes.resize(graph.devices());
    for (u32 device = 0; device < graph.devices(); ++device) {
        spec.is_host[device] = device < graph.ranks();
    }
    std::map<std::pair<u32, u32>, std::vector<u32>> between;
    for (u32 link = 0; link < graph.links(); ++link) {
        const u32 from = graph.from(link);
        const double delay = graph.latency_ns(link) * static_cast<double>(settings.ticks_per_ns());
        spec.links.push_back({from, graph.to(link), bits_of(graph, link), static_cast<u64>(std::llround(delay)), none,
                              !by_formula.empty() && by_formula[link]});
        between[{from, graph.to(link)}].push_back(link);
        spec.buffer_bytes[from] = std::max(spec.buffer_bytes[from], graph.buffer_bytes(link));
    }
    for (const auto& [ends, links] : between) {
        const auto back = between.find({ends.second, ends.first});
        for (std::size_t at = 0; at < links.size(); ++at) {
            if (back == between.end() || back->second.size() <= at) {
                throw std::invalid_argument(graph.link_name(links[at]) +
                                            ": packets need a link back, for ACKs and pauses; add one");
            }
            spec.links[links[at]].twin = back->second[at];
        }
    }
    return spec;
}

}  // namespace yantra::packet
