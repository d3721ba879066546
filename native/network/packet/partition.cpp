#include "network/packet/partition.hpp"

#include <algorithm>
#include <cstdio>
#include <set>
#include <stdexcept>
#include <tuple>
#include <utility>

#include "base/disjoint_sets.hpp"
#include "network/packet/border.hpp"
#include "network/packet/congestion_control.hpp"

namespace yantra::packet {

namespace {

constexpr double event_ns = 40.0;      // measured on all pairs of 128 hosts
constexpr u64 events_of_host = 2;      // so many take as long as one of a host
constexpr double crossing_ns = 40.0;   // of a cut link, on each side
constexpr double barrier_ns = 20000.0;   // where threads share their cores with others
constexpr double begin_ns = 2e6;       // of threads and their tables
constexpr double least_gain = 1.2;
constexpr u64 no_link_ticks = u64{1} << 60;   // between parts

class Divider {
public:
    Divider(const FabricSpec& fabric, const Demand& demand)
        : fabric_(fabric), demand_(demand), work_(fabric.is_host.size(), 0) {
        for (std::size_t link = 0; link < fabric.links.size(); ++link) {   // it is sent, and arrives
            add(fabric.links[link].from, demand.crossings[link]);
            add(fabric.links[link].to, demand.crossings[link]);
        }
    }

    // As many as can be had, then the most gain.
    Partition best(u32 parts) const {
        Partition found;
        for (u64 threshold : thresholds()) {
            for (bool with_switch : {true, false}) {
                Partition made = divided(parts, threshold, with_switch);
                if (made.parts > found.parts || (made.parts == found.parts && made.gain > found.gain)) {
                    found = std::move(made);
                }
            }
        }
        return found;
    }

    // Of `made.part_of`.
    void judge(Partition& made) const {
        std::vector<double> took_ns(made.parts, 0.0);
        made.window = no_link_ticks;
        for (std::size_t device = 0; device < work_.size(); ++device) {
            took_ns[made.part_of[device]] += static_cast<double>(work_[device]) * event_ns;
        }
        for (std::size_t link = 0; link < fabric_.links.size(); ++link) {
            const u8 from = made.part_of[fabric_.links[link].from];
            const u8 to = made.part_of[fabric_.links[link].to];
            if (from != to) {
                made.window = std::min(made.window, demand_.least[link]);
                took_ns[from] += static_cast<double>(demand_.crossings[link]) * crossing_ns;
                took_ns[to] += static_cast<double>(demand_.crossings[link]) * crossing_ns;
            }
        }
        const double alone_ns = static_cast<double>(total_) * event_ns;
        const double windows = std::min(demand_.span / static_cast<double>(std::max<u64>(made.window, 1)),
                                        static_cast<double>(total_));
        const double together_ns =
            *std::max_element(took_ns.begin(), took_ns.end()) + windows * barrier_ns + begin_ns * made.parts;
        made.gain = alone_ns / together_ns;
    }

    u32 hosts() const { return static_cast<u32>(std::count(fabric_.is_host.begin(), fabric_.is_host.end(), true)); }

private:
    void add(u32 device, u64 events) {
        const u64 work = events * (fabric_.is_host[device] ? events_of_host : 1);
        work_[device] += work;
        total_ += work;
    }

    // Below which links are not cut: some of those that links have.
    std::vector<u64> thresholds() const {
        constexpr std::size_t most = 6;
        const std::set<u64> all(demand_.least.begin(), demand_.least.end());
        std::vector<u64> found(all.begin(), all.end());
        if (found.size() > most) {
            for (std::size_t at = 0; at < most; ++at) {
                found[at] = found[at * (found.size() - 1) / (most - 1)];
            }
            found.resize(most);
        }
        return found;
    }

    Partition divided(u32 parts, u64 threshold, bool with_switch) const {
        DisjointSets groups(static_cast<u32>(work_.size()));
        for (const auto& [one, other] : demand_.together) {
            groups.join(one, other);
        }
        for (std::size_t link = 0; link < fabric_.links.size(); ++link) {
            if (demand_.least[link] < std::max<u64>(threshold, 1)) {
                groups.join(fabric_.links[link].from, fabric_.links[link].to);
            }
        }
        if (with_switch) {
            join_hosts(groups);
        }
        return packed(parts, groups);
    }

    void join_hosts(DisjointSets& groups) const {
        std::vector<std::pair<u64, u32>> most(work_.size(), {0, none});   // crossings and switch, by host
        for (std::size_t link = 0; link < fabric_.links.size(); ++link) {
            const LinkSpec& of = fabric_.links[link];
            if (fabric_.is_host[of.from] && !fabric_.is_host[of.to] && demand_.crossings[link] > most[of.from].first) {
                most[of.from] = {demand_.crossings[link], of.to};
            }
        }
        for (u32 host = 0; host < most.size(); ++host) {
            if (most[host].second != none) {
                groups.join(host, most[host].second);
            }
        }
    }

    Partition packed(u32 parts, DisjointSets& groups) const {
        std::vector<u64> work(work_.size(), 0);
        for (u32 device = 0; device < work_.size(); ++device) {
            work[groups.of(device)] += work_[device];
        }
        std::vector<u32> order;
        for (u32 device = 0; device < work_.size(); ++device) {
            if (work[device] > 0) {
                order.push_back(device);
            }
        }
        std::stable_sort(order.begin(), order.end(), [&work](u32 one, u32 other) { return work[one] > work[other]; });
        Partition made;
        made.parts = std::min(parts, static_cast<u32>(order.size()));
        if (made.parts < 2) {
            made.parts = 1;
            return made;
        }
        const std::vector<u8> part_of = grown(made.parts, groups, work, order);
        for (u32 device = 0; device < work_.size(); ++device) {
            made.part_of.push_back(part_of[groups.of(device)]);
        }
        judge(made);
        return made;
    }

    // By group: each part but the last takes the group that most crosses to what it has, up to its share.
    std::vector<u8> grown(u32 parts, DisjointSets& groups, const std::vector<u64>& work, const std::vector<u32>& order) const {
        std::vector<std::vector<std::pair<u32, u64>>> beside(work.size());   // groups, and what crosses
        for (std::size_t link = 0; link < fabric_.links.size(); ++link) {
            const u32 one = groups.of(fabric_.links[link].from);
            const u32 other = groups.of(fabric_.links[link].to);
            if (one != other && demand_.crossings[link] > 0) {
                beside[one].emplace_back(other, demand_.crossings[link]);
                beside[other].emplace_back(one, demand_.crossings[link]);
            }
        }
        constexpr u8 nowhere = 255;
        std::vector<u8> part_of(work.size(), 0);   // those without work are in the first
        for (u32 group : order) {
            part_of[group] = nowhere;
        }
        auto next = order.cbegin();
        u64 left = total_;
        for (u32 part = 0; part < parts; ++part) {
            const u64 share = left / (parts - part);
            std::vector<u64> crosses(work.size(), 0);   // to the part
            std::set<std::tuple<u64, u32>> candidates;   // the last is the best: most crosses, least number
            u64 has = 0;
            while (true) {
                while (next != order.cend() && part_of[*next] != nowhere) {
                    ++next;
                }
                if (next == order.cend()) {
                    break;
                }
                const u32 group = candidates.empty() ? *next : ~std::get<1>(*candidates.rbegin());
                if (part + 1 < parts && has > 0 && 2 * has + work[group] > 2 * share) {
                    break;
                }
                part_of[group] = static_cast<u8>(part);
                has += work[group];
                candidates.erase({crosses[group], ~group});
                for (const auto& [other, packets] : beside[group]) {
                    if (part_of[other] == nowhere) {
                        candidates.erase({crosses[other], ~other});
                        crosses[other] += packets;
                        candidates.insert({crosses[other], ~other});
                    }
                }
            }
            left -= has;
        }
        return part_of;
    }

    const FabricSpec& fabric_;
    const Demand& demand_;
    std::vector<u64> work_;   // in events of a switch, by device
    u64 total_ = 0;
};

std::string times(double gain) {
    char text[32];
    std::snprintf(text, sizeof(text), "%.1fx", gain);
    return text;
}

Partition chosen(const Divider& divider, u32 cores) {
    Partition found;
    double most = 1.0;
    for (u32 parts = 2; parts <= std::min(cores, most_parts); parts += parts < 4 ? 1 : parts < 8 ? 2 : 4) {
        Partition made = divider.best(parts);
        most = std::max(most, made.gain);
        if (made.gain >= least_gain && made.gain > found.gain) {
            found = std::move(made);
        }
    }
    const std::string hosts = std::to_string(divider.hosts()) + " hosts";
    found.why = found.parts > 1 ? hosts + " should gain " + times(found.gain)
                : cores < 2     ? "there is 1 core"
                                : hosts + " would gain " + times(most);
    return found;
}

}  // namespace

std::string why_one_thread(const Settings& settings) {
    if (settings.quirks != 0) {
        return "the semantics ns3-fork go by the order in which events were set, whoever set them";
    }
    if (!settings.pauses || settings.recovery != RecoveryKind::go_back_n) {
        return "where packets are lost or overtake each other, both ends of a flow know of it at once";
    }
    if (settings.look != Look::nothing || settings.sweep_every_ns > 0.0) {
        return queues_in_one_order;
    }
    const Scheme& scheme = scheme_named(settings.congestion_control);
    if (scheme.tells_by_state != nullptr && scheme.tells_by_state(settings)) {
        return settings.congestion_control + " decides at the receiver which marks it tells of";
    }
    return "";
}

Partition divide(const FabricSpec& fabric, const Demand& demand, const Threads& threads) {
    const Divider divider(fabric, demand);
    if (!threads.part_of.empty()) {
        if (threads.part_of.size() != fabric.is_host.size()) {
            throw std::invalid_argument("parts: one is expected of each device");
        }
        Partition made;
        made.part_of = threads.part_of;
        made.parts = *std::max_element(made.part_of.begin(), made.part_of.end()) + 1U;
        made.why = "as given";
        divider.judge(made);
        const auto is_cut = [&made](const auto& pair) { return made.part_of[pair.first] != made.part_of[pair.second]; };
        if (made.window == 0 || std::any_of(demand.together.begin(), demand.together.end(), is_cut)) {
            throw std::invalid_argument("parts: devices without a delay between them are in different ones");
        }
        return made;
    }
    if (threads.wanted == 0) {
        return chosen(divider, threads.cores);
    }
    Partition made = divider.best(std::min(threads.wanted, most_parts));
    made.why = made.parts == threads.wanted ? "as asked"
               : made.parts == 1            ? "the devices with work cannot be parted"
                                            : "no more parts have work";
    return made;
}

}  // namespace yantra::packet
