// For tests: lists of flows over tiers of switches, and that two runs of one are equal.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/test.hpp"
#include "network/packet/packet_list.hpp"
#include "network/packet/presets.hpp"

namespace yantra::packet::lists {

using yantra::test::check;

struct Sent {
    u32 from = 0;
    u32 to = 0;
    double bytes = 1;
    double start_ns = 0;
    u32 spine = 0;
    u32 after = none;
};

struct Case {
    u32 leaves = 1;
    u32 hosts = 1;    // of a leaf
    u32 spines = 1;
    std::vector<double> latencies;   // in turns, of links
    std::vector<Sent> flows;
    Settings settings;

    u32 all_hosts() const { return leaves * hosts; }
    u32 leaf(u32 host) const { return all_hosts() + host / hosts; }
    u32 devices() const { return all_hosts() + leaves + spines; }
    u32 up(u32 host) const { return 2 * host; }
    u32 up(u32 leaf, u32 spine) const { return 2 * (all_hosts() + leaf * spines + spine); }
};

inline FabricSpec fabric_of(const Case& of) {
    FabricSpec fabric;
    fabric.is_host.assign(of.devices(), false);
    const auto add = [&](u32 one, u32 other) {
        const u32 link = static_cast<u32>(fabric.links.size());
        const auto delay = static_cast<u64>(of.latencies[link / 2 % of.latencies.size()] * 1000.0);
        fabric.links.push_back({one, other, 100000000000, delay, link + 1});
        fabric.links.push_back({other, one, 100000000000, delay, link});
    };
    for (u32 host = 0; host < of.all_hosts(); ++host) {
        fabric.is_host[host] = true;
        add(host, of.leaf(host));
    }
    for (u32 leaf = 0; leaf < of.leaves; ++leaf) {
        for (u32 spine = 0; spine < of.spines; ++spine) {
            add(of.all_hosts() + leaf, of.all_hosts() + of.leaves + spine);
        }
    }
    return fabric;
}

inline std::vector<u32> way(const Case& of, u32 from, u32 to, u32 spine) {
    const u32 one = from / of.hosts;
    const u32 other = to / of.hosts;
    if (one == other) {
        return {of.up(from), of.up(to) + 1};
    }
    return {of.up(from), of.up(one, spine), of.up(other, spine) + 1, of.up(to) + 1};
}

inline std::unique_ptr<PacketRun> run(const Case& of, const Threads& threads) {
    FlowList flows;
    PacketColumns columns;
    flows.first_hop = columns.first_ack_hop = {0};
    const auto add = [](std::vector<u64>& first, std::vector<u32>& hops, const std::vector<u32>& links) {
        hops.insert(hops.end(), links.begin(), links.end());
        first.push_back(hops.size());
    };
    for (const Sent& sent : of.flows) {
        add(flows.first_hop, flows.hops, way(of, sent.from, sent.to, sent.spine));
        add(columns.first_ack_hop, columns.ack_hops, way(of, sent.to, sent.from, sent.spine));
        flows.bytes.push_back(sent.bytes);
        flows.start_ns.push_back(sent.start_ns);
        columns.after.push_back(sent.after);
        columns.delay_ns.push_back(100.0);
    }
    const FabricSpec fabric = fabric_of(of);
    LinkSpeeds speeds{std::vector<double>(fabric.links.size(), 12.5), std::vector<double>(fabric.links.size(), 1.0)};
    auto made = send_packets(std::move(flows), std::move(columns), std::move(speeds), fabric, of.settings, {}, threads);
    while (!made->run_for(500)) {
    }
    return made;
}

inline void check_equal(const PacketRun& one, const PacketRun& other, u64 number) {
    check(one.end_ns() == other.end_ns(), "flows end at other times", number);
    check(one.completed_ns() == other.completed_ns(), "last ACKs come at other times", number);
    check(one.start_ns() == other.start_ns(), "flows start at other times", number);
    const PacketCounts all = one.counts();
    const PacketCounts all_others = other.counts();
    check(all.events == all_others.events, "other events are handled", number);
    check(all.totals.packets == all_others.totals.packets && all.totals.marked_acks == all_others.totals.marked_acks,
          "other packets", number);
    const std::vector<PortCount>& counts = all.ports;
    const std::vector<PortCount>& others = all_others.ports;
    for (std::size_t link = 0; link < counts.size(); ++link) {
        check(counts[link].bytes == others[link].bytes && counts[link].queue_max_bytes == others[link].queue_max_bytes &&
                  counts[link].pauses == others[link].pauses && counts[link].paused_ticks == others[link].paused_ticks &&
                  counts[link].marks == others[link].marks && counts[link].busy_ticks == others[link].busy_ticks,
              "a port counts something else", number);
    }
}

}  // namespace yantra::packet::lists
