#include "fold/flow_partition.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <map>
#include <numeric>
#include <utility>
#include <vector>

#include "base/ensure.hpp"
#include "base/hash.hpp"
#include "base/interruption.hpp"

namespace yantra {

FlowPartition::FlowPartition(const Model& model, const Grid& grid, Flows flows)
    : model_(model), visit_(std::move(flows)), ways_(std::make_unique<Ways>(model.network, grid)) {}

u64 FlowPartition::exact(double part) { return static_cast<u64>(std::llround(part * whole)); }

bool FlowPartition::prepare() {
    return std::exchange(is_prepared_, true) || (list_pairs() && make_bundles() && reduce_ways());
}

bool FlowPartition::list_pairs() {
    std::map<std::vector<u32>, u32> patterns;
    for (u32 rank = 0; rank < class_of_rank_.size(); ++rank) {
        look_up();
        pairs_.first.push_back(static_cast<u32>(pairs_.destination.size()));
        std::vector<u32> pattern;
        std::unordered_map<u32, u32> known;
        visit_(rank, [&](u32 dst) {
            if (dst == rank) {   // nothing is sent
                pattern.push_back(none);
                return;
            }
            const auto [found, is_new] = known.try_emplace(dst, static_cast<u32>(known.size()));
            pattern.push_back(found->second);
            if (is_new) {
                pairs_.destination.push_back(dst);
            }
        });
        const auto number = static_cast<u32>(patterns.size());
        pairs_.pattern.push_back(patterns.try_emplace(std::move(pattern), number).first->second);
        if (pairs_.destination.size() > most_crossings / 4) {
            return false;
        }
    }
    pairs_.first.push_back(static_cast<u32>(pairs_.destination.size()));
    return true;
}

// By hashes; reduce_ways() verifies them.
bool FlowPartition::make_bundles() {
    std::vector<std::pair<u64, u64>> hash(ways_->links());
    Way way;
    std::pair<double, u64> known{1.0, exact(1.0)};   // links of a way often carry the same
    u64 crossings = 0;
    for (u32 rank = 0; rank < pairs_.ranks(); ++rank) {
        look_up();
        for (u32 pair = pairs_.begin(rank); pair < pairs_.end(rank); ++pair) {
            ways_->find(ways_->place(RankId(rank)), ways_->place(RankId(pairs_.destination[pair])), 0, nullptr, way);
            if (way.latency_ns * static_cast<double>(model_.semantics.scale.ticks_per_ns()) < 1.0) {
                why_not_ = "messages that have no latency meet in one tick, in an order that follows the numbers of ranks";
                return false;
            }
            pairs_.latency_ns.push_back(way.latency_ns);
            crossings += way.links.size();
            if (crossings > most_crossings) {
                return false;
            }
            for (std::size_t at = 0; at < way.links.size(); ++at) {
                auto& [one, other] = hash[way.links[at]];
                one = mix(one, u64{pair} + 1);
                const double part = way.part(at).carried;
                known = part == known.first ? known : std::pair{part, exact(part)};
                other = mix(mix(other, known.second), pair);
            }
        }
    }
    std::map<std::vector<u64>, u32> numbers;
    for (u32 link = 0; link < hash.size(); ++link) {
        const auto [one, other] = hash[link];
        if (one == 0 && other == 0) {
            bundles_.of.push_back(none);
            continue;
        }
        const u64 rate = std::bit_cast<u64>(ways_->bytes_per_ns(link));
        const auto [found, is_new] = numbers.try_emplace({one, other, rate, ways_->group(link)}, bundles_.count());
        bundles_.of.push_back(found->second);
        if (is_new) {
            bundles_.links.push_back(0);
            bundles_.one.push_back(link);
        }
        ++bundles_.links[found->second];
    }
    return true;
}

bool FlowPartition::reduce_ways() {
    Way way;
    std::vector<Crossed> crossed(bundles_.count());   // by bundle: on the current way
    for (u32 rank = 0; rank < pairs_.ranks(); ++rank) {
        look_up();
        for (u32 pair = pairs_.begin(rank); pair < pairs_.end(rank); ++pair) {
            entries_.first.push_back(entries_.all.size());
            ways_->find(ways_->place(RankId(rank)), ways_->place(RankId(pairs_.destination[pair])), 0, nullptr, way);
            if (!add_entries(way, crossed)) {
                return false;
            }
        }
    }
    entries_.first.push_back(entries_.all.size());
    return true;
}

bool FlowPartition::add_entries(const Way& way, std::vector<Crossed>& crossed) {
    const std::size_t begin = entries_.all.size();
    bool as_one = true;
    for (std::size_t at = 0; at < way.links.size(); ++at) {
        const u32 bundle = bundles_.of[way.links[at]];
        const double part = way.part(at).carried;
        Crossed& of = crossed[bundle];
        if (of.links++ == 0) {
            entries_.all.push_back({bundle, part});
            of.part = part;
        } else if (part != of.part) {
            as_one &= exact(part) == exact(of.part);
            of.part = std::min(part, of.part);
        }
    }
    const std::span<Entry> fresh = std::span<Entry>(entries_.all).subspan(begin);
    std::ranges::sort(fresh, {}, &Entry::bundle);
    for (Entry& entry : fresh) {
        const Crossed of = std::exchange(crossed[entry.bundle], {});
        as_one &= of.links == bundles_.links[entry.bundle];
        entry.part = of.part;
    }
    return as_one;
}

bool FlowPartition::divide(const std::vector<u32>& class_of_rank, u32 classes) {
    class_of_rank_ = class_of_rank;
    if (!prepare()) {
        return false;
    }
    record_crossings(classes);
    sort_crossings();
    group_bundles();
    return true;
}

// Where members differ, their signatures will show it.
void FlowPartition::record_crossings(u32 classes) {
    std::vector<std::vector<u32>> members(classes);
    for (u32 rank = 0; rank < class_of_rank_.size(); ++rank) {
        members[class_of_rank_[rank]].push_back(rank);
    }
    std::vector<Crossing>& all = crossings_.all;
    all.clear();
    crossings_.first_flow.assign(1, 0);
    std::vector<u32> at(bundles_.count(), none);   // by bundle: its crossing by the present flow
    for (const std::vector<u32>& ranks : members) {
        u32 most = 0;
        for (u32 rank : ranks) {
            most = std::max(most, pairs_.count(rank));
        }
        for (u32 k = 0; k < most; ++k) {
            const std::size_t begin = all.size();
            const u32 flow = crossings_.first_flow.back() + k;
            for (u32 rank : ranks) {
                if (k >= pairs_.count(rank)) {
                    continue;
                }
                for (const auto& [bundle, part] : entries_.of(pairs_.begin(rank) + k)) {
                    if (at[bundle] == none) {
                        at[bundle] = static_cast<u32>(all.size());
                        all.push_back({bundle, flow, 0, 0, 0.0});
                    }
                    Crossing& crossing = all[at[bundle]];
                    ++crossing.flows;
                    crossing.parts += exact(part);
                    crossing.shared += part;
                }
            }
            for (std::size_t done = begin; done < all.size(); ++done) {
                at[all[done].bundle] = none;
            }
        }
        crossings_.first_flow.push_back(crossings_.first_flow.back() + most);
    }
}

// Flows are already ordered within each.
void FlowPartition::sort_crossings() {
    std::vector<u32>& first = crossings_.first;
    first.assign(bundles_.count() + 1, 0);
    for (const Crossing& crossing : crossings_.all) {
        ++first[crossing.bundle + 1];
    }
    std::partial_sum(first.begin(), first.end(), first.begin());
    std::vector<u32> next(first.begin(), first.end() - 1);
    std::vector<Crossing> sorted(crossings_.all.size());
    for (const Crossing& crossing : crossings_.all) {
        sorted[next[crossing.bundle]++] = crossing;
    }
    crossings_.all = std::move(sorted);
}

void FlowPartition::group_bundles() {
    classes_ = {};
    std::unordered_multimap<u64, u32> by_hash;
    for (u32 bundle = 0; bundle < bundles_.count(); ++bundle) {
        u64 hash = 0;
        for (const Crossing& crossing : crossings_.of(bundle)) {
            hash = mix(mix(mix(hash, crossing.flow), crossing.flows), crossing.parts);
        }
        u32 found = none;
        const auto [begin, end] = by_hash.equal_range(hash);
        for (auto it = begin; it != end && found == none; ++it) {
            found = crossed_alike(bundle, classes_.one[it->second]) ? it->second : none;
        }
        if (found == none) {
            found = static_cast<u32>(classes_.one.size());
            by_hash.emplace(hash, found);
            classes_.one.push_back(bundle);
        }
        classes_.of.push_back(found);
    }
}

bool FlowPartition::crossed_alike(u32 bundle, u32 other) const {
    const u32 link = bundles_.one[bundle];
    const u32 other_link = bundles_.one[other];
    return ways_->bytes_per_ns(link) == ways_->bytes_per_ns(other_link) &&
           ways_->group(link) == ways_->group(other_link) &&
           std::ranges::equal(crossings_.of(bundle), crossings_.of(other),
                              [](const Crossing& a, const Crossing& b) {
                                  return a.flow == b.flow && a.flows == b.flows && a.parts == b.parts;
                              });
}

std::vector<u64> FlowPartition::signature(u32 rank) const {
    std::vector<u64> found{pairs_.pattern[rank]};
    std::vector<std::pair<u32, u64>> crossed;
    for (u32 pair = pairs_.begin(rank); pair < pairs_.end(rank); ++pair) {
        crossed.clear();
        for (const auto& [bundle, part] : entries_.of(pair)) {
            crossed.emplace_back(classes_.of[bundle], exact(part));
        }
        std::sort(crossed.begin(), crossed.end());
        found.push_back(std::bit_cast<u64>(pairs_.latency_ns[pair]));
        found.push_back(crossed.size());
        for (const auto& [of_class, part] : crossed) {
            found.insert(found.end(), {of_class, part});
        }
    }
    return found;
}

FlowClasses FlowPartition::classes_for(const std::vector<u32>& representatives) const {
    FlowClasses found;
    found.count.assign(classes_.one.size(), 0);
    for (u32 bundle : bundles_.of) {
        const u32 of_class = bundle == none ? none : classes_.of[bundle];
        found.class_of.push_back(of_class);
        if (of_class != none) {
            ++found.count[of_class];
        }
    }
    for (u32 bundle : classes_.one) {
        found.one_of.push_back(bundles_.one[bundle]);
    }
    for (u32 rank : representatives) {
        for (u32 pair = pairs_.begin(rank); pair < pairs_.end(rank); ++pair) {
            const u32 flow = crossings_.first_flow[class_of_rank_[rank]] + pair - pairs_.begin(rank);
            found.ways.emplace(FlowClasses::pair(rank, pairs_.destination[pair]), way_of(pair, flow));
        }
    }
    return found;
}

Way FlowPartition::way_of(u32 pair, u32 flow) const {
    std::map<u32, Way::Part> parts;
    for (const auto& [bundle, part] : entries_.of(pair)) {
        const std::span<const Crossing> crossings = crossings_.of(bundle);
        const auto crossing = std::ranges::lower_bound(crossings, flow, {}, &Crossing::flow);
        ensure(crossing != crossings.end() && crossing->flow == flow,
               "a flow over a link that it does not cross");
        const auto made = parts.try_emplace(classes_.of[bundle], Way::Part{0.0, 0.0, 0}).first;
        Way::Part& of_class = made->second;
        of_class = {std::max(of_class.carried, part), crossing->shared, crossing->flows};
    }
    Way way;
    way.latency_ns = pairs_.latency_ns[pair];
    for (const auto& [of_class, part] : parts) {
        way.links.push_back(of_class);
        way.parts.push_back(part);
    }
    return way;
}

}  // namespace yantra
