#include "fold/link_classes.hpp"

#include <algorithm>
#include <numeric>
#include <unordered_map>

#include "base/ensure.hpp"
#include "base/hash.hpp"

namespace yantra {

namespace {

constexpr u64 most_crossings = 50'000'000;
constexpr u32 next_flow = none;

}  // namespace

// Calls cross(link) for each hop of each flow of a rank, and cross(next_flow) before each flow.
template <class Cross>
void LinkPartition::walk(u32 rank, Cross&& cross) const {
    flows_(rank, [&](u32 dst) {
        cross(next_flow);
        for (Links::Stop stop{rank, none}; !stop.is(dst);) {
            cross(routes_.next(stop, dst));
        }
    });
}

bool LinkPartition::cut(const std::vector<u32>& class_of_rank, u32 classes) {
    class_of_rank_ = class_of_rank;
    if (!write_down(class_of_rank, classes)) {
        return false;
    }
    compare();
    return true;
}

// The k-th crossing of a rank is one flow at one hop for all ranks of its class whose ways are alike,
// and gets one number for all of them; the ways of the others will tell them apart.
bool LinkPartition::write_down(const std::vector<u32>& class_of_rank, u32 classes) {
    std::vector<u64> most(classes);   // by class: crossings of a rank
    begin_.assign(routes_.count() + 1, 0);
    u64 total = 0;
    for (u32 rank = 0; rank < class_of_rank.size(); ++rank) {
        u64 here = 0;
        walk(rank, [&](u32 link) {
            if (link != next_flow) {
                ++begin_[link + 1];
                ++here;
            }
        });
        total += here;
        most[class_of_rank[rank]] = std::max(most[class_of_rank[rank]], here);
        if (total > most_crossings) {
            return false;
        }
    }
    std::exclusive_scan(most.begin(), most.end(), most.begin(), u64{0});
    std::partial_sum(begin_.begin(), begin_.end(), begin_.begin());
    std::vector<u32> at(begin_.begin(), begin_.end() - 1);
    crossings_.resize(total);
    for (u32 rank = 0; rank < class_of_rank.size(); ++rank) {
        u64 number = most[class_of_rank[rank]];
        walk(rank, [&](u32 link) {
            if (link != next_flow) {
                crossings_[at[link]++] = static_cast<u32>(number++);
            }
        });
    }
    return true;
}

void LinkPartition::compare() {
    classes_ = {};
    classes_.class_of.assign(routes_.count(), none);
    std::vector<u32> first;   // by class: a link of it
    std::unordered_multimap<u64, u32> by_hash;
    for (u32 link = 0; link < routes_.count(); ++link) {
        const auto from = crossings_.begin() + begin_[link];
        const auto to = crossings_.begin() + begin_[link + 1];
        if (from == to) {
            continue;
        }
        std::sort(from, to);
        const u32 dimension = routes_.dimension_of(link);
        u64 hash = dimension;
        std::for_each(from, to, [&hash](u32 crossing) { hash = mix(hash, crossing); });
        u32 found = none;
        const auto [begin, end] = by_hash.equal_range(hash);
        for (auto it = begin; it != end && found == none; ++it) {
            const u32 other = first[it->second];
            const bool same = classes_.dimension[it->second] == dimension &&
                              std::equal(from, to, crossings_.begin() + begin_[other],
                                         crossings_.begin() + begin_[other + 1]);
            found = same ? it->second : none;
        }
        if (found == none) {
            found = static_cast<u32>(first.size());
            by_hash.emplace(hash, found);
            first.push_back(link);
            classes_.dimension.push_back(dimension);
            classes_.count.push_back(0);
        }
        classes_.class_of[link] = found;
        ++classes_.count[found];
    }
}

std::vector<u32> LinkPartition::way_of(u32 rank) const {
    std::vector<u32> way;
    walk(rank, [&](u32 link) {
        way.push_back(link == next_flow ? next_flow : classes_.class_of[link]);
    });
    return way;
}

LinkPartition::Shared LinkPartition::shared() const {
    Shared found;
    for (u32 link = 0; link < routes_.count() && found.link == none; ++link) {
        const auto from = crossings_.begin() + begin_[link];
        const auto to = crossings_.begin() + begin_[link + 1];
        found.link = std::adjacent_find(from, to) != to ? link : none;
    }
    if (found.link == none) {
        return found;
    }
    std::unordered_map<u64, u32> crossed_by;   // by class and number of the crossing: a rank
    for (u32 rank = 0; rank < class_of_rank_.size() && found.other == none; ++rank) {
        u32 number = 0;
        walk(rank, [&](u32 link) {
            number += link == next_flow ? 0 : 1;
            if (link == found.link) {
                const u64 key = u64{class_of_rank_[rank]} << 32U | number;
                const auto [entry, fresh] = crossed_by.try_emplace(key, rank);
                if (!fresh && found.other == none) {
                    found.rank = entry->second;
                    found.other = rank;
                }
            }
        });
    }
    ensure(found.other != none, "a crossing of two ranks, of which there is one");
    return found;
}

}  // namespace yantra
