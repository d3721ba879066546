#include "fold/flow_partition.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <map>
#include <numeric>
#include <utility>

#include "base/ensure.hpp"
#include "base/hash.hpp"
#include "base/interruption.hpp"
#include "base/vector.hpp"

namespace yantra {

FlowPartition::FlowPartition(const Model& model, const Grid& grid, Flows flows)
    : model_(model), visit_(std::move(flows)), ways_(std::make_unique<Ways>(model.network, grid)) {}

u64 FlowPartition::exact(double part) { return static_cast<u64>(std::llround(part * whole)); }

bool FlowPartition::prepare() {
    return std::exchange(is_prepared_, true) || (list_pairs() && make_bundles() && reduce_ways());
}

bool FlowPartition::list_pairs() {
    std::map<Vector<u32>, u32> patterns;
    for (u32 rank = 0; rank < class_of_rank_.size(); ++rank) {
        look_up();
        first_pair_.push_back(static_cast<u32>(destination_.size()));
        Vector<u32> pattern;
        std::unordered_map<u32, u32> known;
        visit_(rank, [&](u32 dst) {
            if (dst == rank) {   // nothing is sent
                pattern.push_back(none);
                return;
            }
            const auto [found, is_new] = known.try_emplace(dst, static_cast<u32>(known.size()));
            pattern.push_back(found->second);
            if (is_new) {
                destination_.push_back(dst);
            }
        });
        pattern_.push_back(patterns.try_emplace(std::move(pattern), static_cast<u32>(patterns.size())).first->second);
        if (destination_.size() > most_crossings / 4) {
            return false;
        }
    }
    first_pair_.push_back(static_cast<u32>(destination_.size()));
    return true;
}

// By hashes; reduce_ways() verifies them.
bool FlowPartition::make_bundles() {
    Vector<std::pair<u64, u64>> hash(ways_->links());
    Way way;
    std::pair<double, u64> known{1.0, exact(1.0)};   // links of a way often carry the same
    u64 crossings = 0;
    for (u32 rank = 0; rank + 1 < first_pair_.size(); ++rank) {
        look_up();
        for (u32 pair = first_pair_[rank]; pair < first_pair_[rank + 1]; ++pair) {
            ways_->find(ways_->place(RankId(rank)), ways_->place(RankId(destination_[pair])), 0, nullptr, way);
            if (way.latency_ns * static_cast<double>(model_.semantics.scale.ticks_per_ns()) < 1.0) {
                why_not_ = "messages that have no latency meet in one tick, in an order that follows the numbers of ranks";
                return false;
            }
            latency_ns_.push_back(way.latency_ns);
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
    std::map<Vector<u64>, u32> numbers;
    for (u32 link = 0; link < hash.size(); ++link) {
        const auto [one, other] = hash[link];
        if (one == 0 && other == 0) {
            bundle_of_.push_back(none);
            continue;
        }
        const u64 rate = std::bit_cast<u64>(ways_->bytes_per_ns(link));
        const auto [found, is_new] = numbers.try_emplace({one, other, rate, ways_->group(link)}, links_in_.size());
        bundle_of_.push_back(found->second);
        if (is_new) {
            links_in_.push_back(0);
            link_in_.push_back(link);
        }
        ++links_in_[found->second];
    }
    return true;
}

bool FlowPartition::reduce_ways() {
    Way way;
    crossed_.resize(links_in_.size());
    for (u32 rank = 0; rank + 1 < first_pair_.size(); ++rank) {
        look_up();
        for (u32 pair = first_pair_[rank]; pair < first_pair_[rank + 1]; ++pair) {
            first_entry_.push_back(entries_.size());
            ways_->find(ways_->place(RankId(rank)), ways_->place(RankId(destination_[pair])), 0, nullptr, way);
            if (!add_entries(way)) {
                return false;
            }
        }
    }
    first_entry_.push_back(entries_.size());
    return true;
}

// False if a bundle is not crossed as one (hashes collided).
bool FlowPartition::add_entries(const Way& way) {
    bundles_.clear();
    bool as_one = true;
    for (std::size_t at = 0; at < way.links.size(); ++at) {
        const u32 bundle = bundle_of_[way.links[at]];
        const double part = way.part(at).carried;
        Crossed& crossed = crossed_[bundle];
        if (crossed.links++ == 0) {
            bundles_.push_back(bundle);
            crossed.part = part;
        } else if (part != crossed.part) {
            as_one &= exact(part) == exact(crossed.part);
            crossed.part = std::min(part, crossed.part);
        }
    }
    std::sort(bundles_.begin(), bundles_.end());
    for (u32 bundle : bundles_) {
        const Crossed crossed = std::exchange(crossed_[bundle], {});
        as_one &= crossed.links == links_in_[bundle];
        entries_.push_back({bundle, crossed.part});
    }
    return as_one;
}

bool FlowPartition::divide(const Vector<u32>& class_of_rank, u32 classes) {
    class_of_rank_ = class_of_rank;
    if (!prepare()) {
        return false;
    }
    record_crossings(classes);
    sort_crossings();
    group_bundles();
    return true;
}

// The k-th destination belongs to the class's k-th class of flows. Where members differ, their
// signatures will show it.
void FlowPartition::record_crossings(u32 classes) {
    Vector<Vector<u32>> members(classes);
    for (u32 rank = 0; rank < class_of_rank_.size(); ++rank) {
        members[class_of_rank_[rank]].push_back(rank);
    }
    crossings_.clear();
    first_flow_.assign(1, 0);
    Vector<u32> at(links_in_.size(), none);   // by bundle: its crossing by the present flow
    for (const Vector<u32>& ranks : members) {
        u32 most = 0;
        for (u32 rank : ranks) {
            most = std::max(most, first_pair_[rank + 1] - first_pair_[rank]);
        }
        for (u32 k = 0; k < most; ++k) {
            const std::size_t begin = crossings_.size();
            for (u32 rank : ranks) {
                const u32 pair = first_pair_[rank] + k;
                if (pair >= first_pair_[rank + 1]) {
                    continue;
                }
                for (u64 entry = first_entry_[pair]; entry < first_entry_[pair + 1]; ++entry) {
                    const auto [bundle, part] = entries_[entry];
                    if (at[bundle] == none) {
                        at[bundle] = static_cast<u32>(crossings_.size());
                        crossings_.push_back({bundle, first_flow_.back() + k, 0, 0, 0.0});
                    }
                    Crossing& crossing = crossings_[at[bundle]];
                    ++crossing.flows;
                    crossing.parts += exact(part);
                    crossing.shared += part;
                }
            }
            for (std::size_t done = begin; done < crossings_.size(); ++done) {
                at[crossings_[done].bundle] = none;
            }
        }
        first_flow_.push_back(first_flow_.back() + most);
    }
}

// Flows are already ordered within each.
void FlowPartition::sort_crossings() {
    first_crossing_.assign(links_in_.size() + 1, 0);
    for (const Crossing& crossing : crossings_) {
        ++first_crossing_[crossing.bundle + 1];
    }
    std::partial_sum(first_crossing_.begin(), first_crossing_.end(), first_crossing_.begin());
    Vector<u32> next(first_crossing_.begin(), first_crossing_.end() - 1);
    Vector<Crossing> sorted(crossings_.size());
    for (const Crossing& crossing : crossings_) {
        sorted[next[crossing.bundle]++] = crossing;
    }
    crossings_ = std::move(sorted);
}

void FlowPartition::group_bundles() {
    class_of_bundle_.clear();
    bundle_in_.clear();
    std::unordered_multimap<u64, u32> by_hash;
    for (u32 bundle = 0; bundle < links_in_.size(); ++bundle) {
        u64 hash = 0;
        for (u32 at = first_crossing_[bundle]; at < first_crossing_[bundle + 1]; ++at) {
            hash = mix(mix(mix(hash, crossings_[at].flow), crossings_[at].flows), crossings_[at].parts);
        }
        u32 found = none;
        const auto [begin, end] = by_hash.equal_range(hash);
        for (auto it = begin; it != end && found == none; ++it) {
            found = crossed_alike(bundle, bundle_in_[it->second]) ? it->second : none;
        }
        if (found == none) {
            found = static_cast<u32>(bundle_in_.size());
            by_hash.emplace(hash, found);
            bundle_in_.push_back(bundle);
        }
        class_of_bundle_.push_back(found);
    }
}

bool FlowPartition::crossed_alike(u32 bundle, u32 other) const {
    const u32 link = link_in_[bundle];
    const u32 other_link = link_in_[other];
    return ways_->bytes_per_ns(link) == ways_->bytes_per_ns(other_link) &&
           ways_->group(link) == ways_->group(other_link) &&
           std::equal(crossings_.begin() + first_crossing_[bundle], crossings_.begin() + first_crossing_[bundle + 1],
                      crossings_.begin() + first_crossing_[other], crossings_.begin() + first_crossing_[other + 1],
                      [](const Crossing& a, const Crossing& b) {
                          return a.flow == b.flow && a.flows == b.flows && a.parts == b.parts;
                      });
}

Vector<u64> FlowPartition::signature(u32 rank) const {
    Vector<u64> found{pattern_[rank]};
    Vector<std::pair<u32, u64>> crossed;
    for (u32 pair = first_pair_[rank]; pair < first_pair_[rank + 1]; ++pair) {
        crossed.clear();
        for (u64 entry = first_entry_[pair]; entry < first_entry_[pair + 1]; ++entry) {
            crossed.emplace_back(class_of_bundle_[entries_[entry].bundle], exact(entries_[entry].part));
        }
        std::sort(crossed.begin(), crossed.end());
        found.push_back(std::bit_cast<u64>(latency_ns_[pair]));
        found.push_back(crossed.size());
        for (const auto& [of_class, part] : crossed) {
            found.insert(found.end(), {of_class, part});
        }
    }
    return found;
}

FlowClasses FlowPartition::classes_for(const Vector<u32>& representatives) const {
    FlowClasses found;
    found.count.assign(bundle_in_.size(), 0);
    for (u32 bundle : bundle_of_) {
        const u32 of_class = bundle == none ? none : class_of_bundle_[bundle];
        found.class_of.push_back(of_class);
        if (of_class != none) {
            ++found.count[of_class];
        }
    }
    for (u32 bundle : bundle_in_) {
        found.one_of.push_back(link_in_[bundle]);
    }
    for (u32 rank : representatives) {
        for (u32 pair = first_pair_[rank]; pair < first_pair_[rank + 1]; ++pair) {
            const u32 flow = first_flow_[class_of_rank_[rank]] + pair - first_pair_[rank];
            found.ways.emplace(FlowClasses::pair(rank, destination_[pair]), way_of(pair, flow));
        }
    }
    return found;
}

Way FlowPartition::way_of(u32 pair, u32 flow) const {
    std::map<u32, Way::Part> parts;
    for (u64 entry = first_entry_[pair]; entry < first_entry_[pair + 1]; ++entry) {
        const auto [bundle, part] = entries_[entry];
        const auto crossing = std::lower_bound(
            crossings_.begin() + first_crossing_[bundle], crossings_.begin() + first_crossing_[bundle + 1], flow,
            [](const Crossing& a, u32 wanted) { return a.flow < wanted; });
        ensure(crossing->bundle == bundle && crossing->flow == flow, "a flow over a link that it does not cross");
        Way::Part& of_class = parts.try_emplace(class_of_bundle_[bundle], Way::Part{0.0, 0.0, 0}).first->second;
        of_class = {std::max(of_class.carried, part), crossing->shared, crossing->flows};
    }
    Way way;
    way.latency_ns = latency_ns_[pair];
    for (const auto& [of_class, part] : parts) {
        way.links.push_back(of_class);
        way.parts.push_back(part);
    }
    return way;
}

}  // namespace yantra
