#include "network/packet_parts.hpp"

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "base/cores.hpp"
#include "network/packet/episodes.hpp"
#include "network/packet/packets.hpp"

namespace yantra::inline YANTRA_RUN {

namespace {

std::string why_one_part(const NetworkSetup& setup, const packet::Settings& settings, const FormulaTiers& tiers,
                         bool is_asked) {
    const std::string refused = packet::why_one_thread(settings);
    if (!refused.empty()) {
        const bool looks = refused == packet::queues_in_one_order && settings.look != packet::Look::nothing;
        return looks ? refused + "; take network.look: nothing" : refused;
    }
    if (!setup.threads.why_one.empty()) {
        return setup.threads.why_one;
    }
    if (settings.tells_crossings) {
        return "a recorded run notes what crosses links in one order";
    }
    if (settings.congestion_control == "hpcc_pint" && settings.max_rtt_ns == 0.0) {
        return "switches learn of the largest round trip at once; take network.max_rtt";
    }
    if (!setup.parameters.link_changes.empty()) {
        return "links change, and all ways with them at once";
    }
    if (tiers.any()) {
        return "a tier goes by formula";
    }
    const bool skips = settings.skip == packet::Skip::required ||
                       (!is_asked && packet::Episodes::refusal(settings).empty());
    return skips ? "what repeats is skipped; with network.skip: off it may take more" : "";
}

packet::Demand demand_of(const NetworkSetup& setup, const packet::Settings& settings,
                         const packet::FabricSpec& fabric, Ways& ways) {
    const packet::Transmission transmission(settings.ticks_per_ns());
    packet::Demand found{std::vector<u64>(fabric.links.size(), 0), {}, {}, 0.0};
    for (const packet::LinkSpec& link : fabric.links) {
        found.least.push_back(link.delay + transmission.ticks(packet::pause_bytes, link.bits_per_s));
    }
    std::vector<double> packets(fabric.links.size(), 0.0);
    std::vector<double> bytes(fabric.links.size(), 0.0);
    std::vector<u32> path;
    for (const ExpectedTraffic& of : setup.threads.traffic()) {
        const u32 from = ways.place(RankId(of.from));
        const u32 to = ways.place(RankId(of.to));
        if (from == to) {
            continue;
        }
        const double data = std::ceil(of.bytes / settings.payload_bytes) + of.messages;
        ways.route(from, to, 0, nullptr, path);
        for (u32 link : path) {
            packets[link] += data;
            bytes[link] += of.bytes + data * packet::plain_header;
        }
        ways.route(to, from, 0, nullptr, path);
        for (u32 link : path) {
            packets[link] += data;
        }
    }
    for (std::size_t link = 0; link < packets.size(); ++link) {
        found.crossings[link] = static_cast<u64>(packets[link]);
        const double bits_per_tick =
            static_cast<double>(fabric.links[link].bits_per_s) / 1e9 / static_cast<double>(settings.ticks_per_ns());
        found.span = std::max(found.span, 8.0 * bytes[link] / bits_per_tick);
    }
    const u32 first = ways.place(RankId(0));
    for (u32 rank = 1; rank < setup.parameters.ranks(); ++rank) {
        found.together.emplace_back(first, ways.place(RankId(rank)));
    }
    for (u32 place : setup.parameters.placement) {   // switches that programs name, too
        found.together.emplace_back(first, place);
    }
    return found;
}

}  // namespace

packet::Partition packet_parts(const NetworkSetup& setup, const packet::Settings& settings,
                               const packet::FabricSpec& fabric, Ways& ways, const FormulaTiers& tiers) {
    const u32 wanted = static_cast<u32>(setup.parameters.choice.option("threads", 0.0));
    packet::Partition made;
    made.why = wanted == 1 ? "as asked" : why_one_part(setup, settings, tiers, wanted > 1);
    if (!made.why.empty()) {
        return made;
    }
    made = packet::divide(fabric, demand_of(setup, settings, fabric, ways), {wanted, cores()});
    if (made.parts > 1) {
        const u8 first = made.part_of[ways.place(RankId(0))];
        for (u8& part : made.part_of) {
            part = part == first ? u8{0} : part == 0 ? first : part;
        }
    }
    return made;
}

}  // namespace yantra
