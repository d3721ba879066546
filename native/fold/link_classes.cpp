#include "fold/link_classes.hpp"

#include <algorithm>
#include <iterator>
#include <numeric>
#include <unordered_map>
#include <vector>

#include "base/ensure.hpp"
#include "base/hash.hpp"

namespace yantra {

namespace {

constexpr u64 most_crossings = 50'000'000;
constexpr u32 next_flow = none;

}  // namespace

template <class Visit>
void LinkPartition::for_each_hop(u32 rank, Visit&& visit) const {
    std::for_each(hops_.begin() + hops_begin_[rank], hops_.begin() + hops_begin_[rank + 1], visit);
}

bool LinkPartition::divide(const std::vector<u32>& class_of_rank, u32 classes) {
    class_of_rank_ = class_of_rank;
    if (hops_begin_.empty() && !record_hops()) {
        return false;
    }
    record_crossings(class_of_rank, classes);
    group_links();
    return true;
}

// False if there are too many crossings.
bool LinkPartition::record_hops() {
    crossed_.assign(routes_.count(), 0);
    u64 total = 0;
    for (u32 rank = 0; rank < class_of_rank_.size(); ++rank) {
        hops_begin_.push_back(hops_.size());
        flows_(rank, [&](u32 dst) {
            hops_.push_back(next_flow);
            for (Links::Stop stop{rank, none}; !stop.is(dst); ++total) {
                hops_.push_back(routes_.next(stop, dst));
                ++crossed_[hops_.back()];
            }
        });
        if (total > most_crossings) {
            return false;
        }
    }
    hops_begin_.push_back(hops_.size());
    return true;
}

void LinkPartition::record_crossings(const std::vector<u32>& class_of_rank, u32 classes) {
    std::vector<u64> first(classes, 0);   // by class: at first the most hops of a rank
    for (u32 rank = 0; rank < class_of_rank.size(); ++rank) {
        u64& most = first[class_of_rank[rank]];
        most = std::max(most, hops_begin_[rank + 1] - hops_begin_[rank]);
    }
    std::exclusive_scan(first.begin(), first.end(), first.begin(), u64{0});
    begin_.assign(1, 0);
    std::partial_sum(crossed_.begin(), crossed_.end(), std::back_inserter(begin_));
    std::vector<u32> at(begin_.begin(), begin_.end() - 1);
    crossings_.resize(begin_.back());
    for (u32 rank = 0; rank < class_of_rank.size(); ++rank) {
        u64 number = first[class_of_rank[rank]];
        for_each_hop(rank, [&](u32 link) {
            if (link != next_flow) {
                crossings_[at[link]++] = static_cast<u32>(number++);
            }
        });
    }
}

void LinkPartition::group_links() {
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
        u64 hash = routes_.dimension_of(link);
        std::for_each(from, to, [&hash](u32 crossing) { hash = mix(hash, crossing); });
        u32 found = none;
        const auto [begin, end] = by_hash.equal_range(hash);
        for (auto it = begin; it != end && found == none; ++it) {
            found = crossed_alike(link, first[it->second]) ? it->second : none;
        }
        if (found == none) {
            found = static_cast<u32>(first.size());
            by_hash.emplace(hash, found);
            first.push_back(link);
            classes_.dimension.push_back(routes_.dimension_of(link));
            classes_.count.push_back(0);
        }
        classes_.class_of[link] = found;
        ++classes_.count[found];
    }
}

bool LinkPartition::crossed_alike(u32 link, u32 other) const {
    return routes_.dimension_of(link) == routes_.dimension_of(other) &&
           std::equal(crossings_.begin() + begin_[link], crossings_.begin() + begin_[link + 1],
                      crossings_.begin() + begin_[other], crossings_.begin() + begin_[other + 1]);
}

std::vector<u32> LinkPartition::classes_on_routes(u32 rank) const {
    std::vector<u32> found;
    for_each_hop(rank, [&](u32 link) {
        found.push_back(link == next_flow ? none : classes_.class_of[link]);
    });
    return found;
}

LinkPartition::Shared LinkPartition::shared_link() const {
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
        for_each_hop(rank, [&](u32 link) {
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
    ensure(found.other != none, "two ranks cross a link at the same hop, but only one was found");
    return found;
}

}  // namespace yantra
