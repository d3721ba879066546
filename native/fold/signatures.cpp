#include "fold/signatures.hpp"

#include <algorithm>
#include <vector>

namespace yantra {

namespace {

constexpr u64 mixed = ~u64{0};   // members of a level that are not all of one class
constexpr u64 of_members = u64{1} << 63U;   // set in numbers of members, so no class equals one

}  // namespace

void Signatures::start_round(bool compares_distances) {
    compares_distances_ = compares_distances;
    common_.clear();
    number_of_members_.clear();
    numbers_.clear();
}

const std::vector<u64>& Signatures::of(u32 rank) {
    values_.clear();
    subjects_.clear();
    put(classes_.of(rank), Difference::graph);
    const u32 communicators = static_cast<u32>(names_.of(rank).communicators.size());
    for (u32 index = 0; index < communicators; ++index) {
        add_communicator(rank, index);
    }
    add_peers(rank);
    return values_;
}

Split Signatures::difference(u32 rank, u32 other) {
    const std::vector<u64> theirs = of(other);
    of(rank);
    std::size_t at = 0;
    while (at + 1 < std::min(theirs.size(), values_.size()) && theirs[at] == values_[at]) {
        ++at;
    }
    return {rank, other, subjects_[at].difference, subjects_[at].communicator, 0};
}

void Signatures::add_communicator(u32 rank, u32 index) {
    const u32 communicator = names_.communicator(rank, index);
    const u32 kinds = names_.of(rank).communicators[index].kinds;
    put(model_.collectives.queue_sets[communicator], Difference::plan, communicator);
    for (u32 kind = 0; kind < collective_kinds; ++kind) {
        if ((kinds >> kind & 1) == 0) {
            continue;
        }
        model_.collectives.layout_of(communicator).for_each_plan(kind, [&](u32 plan, u64 from_bytes) {
            put(from_bytes, Difference::plan, communicator);
            put(neighbourhoods_.plan_number(plan), Difference::plan, communicator);
            for (u32 level = 0; level < model_.collectives.plans[plan].levels.size(); ++level) {
                if (model_.collectives.plans[plan].levels[level].size > 1) {
                    add_level(rank, communicator, plan, level);
                }
            }
        });
    }
}

void Signatures::add_level(u32 rank, u32 communicator, u32 plan_index, u32 level_index) {
    const Plan& plan = model_.collectives.plans[plan_index];
    const Level& level = plan.levels[level_index];
    const Neighbourhood& neighbourhood = neighbourhoods_.of(plan_index, level_index);
    const Place place = place_on(model_.collectives, plan, level_index, communicator, rank);
    if (neighbourhood.by_position) {
        put(u64{communicator} << 32U | rank, Difference::position, communicator);
        return;
    }
    const u64 common = common_class_and_index(communicator, plan_index, level_index, place);
    if (neighbourhood.waits_for_all) {
        put(common != mixed ? common : members_number(communicator, place), Difference::neighbours,
            communicator);
        if (neighbourhood.offsets.empty()) {
            return;
        }
    }
    const bool distances_count =
        compares_distances_ && !neighbourhoods_.looks_same_from_each(plan, level);
    if (common != mixed && !distances_count) {
        put(common, Difference::neighbours, communicator);
        return;
    }
    budget_.spend(neighbourhood.offsets.size());
    for (const Offset& offset : neighbourhood.offsets) {
        const u32 other = neighbour(place, offset);
        put(class_and_index(other, communicator), Difference::neighbours, communicator);
        if (distances_count && other != rank) {
            put(neighbourhoods_.distance(rank, other), Difference::distance, communicator);
        }
    }
}

void Signatures::add_peers(u32 rank) {
    const u32 count = static_cast<u32>(names_.of(rank).peers.size());
    for (u32 index = 0; index < count; ++index) {
        const u32 peer = names_.peer(rank, index);
        put(names_.peer_index(rank, peer), Difference::peers);
        put(u64{classes_.of(peer)} << 32U | names_.peer_index(peer, rank), Difference::exchange);
        if (compares_distances_) {
            put(neighbourhoods_.distance(rank, peer), Difference::distance);
        }
    }
}

// Independent of order.
u64 Signatures::members_number(u32 communicator, const Place& place) {
    const u64 key = u64{communicator} * grid_.ranks() + place.base;
    const auto known = number_of_members_.find(key);
    if (known != number_of_members_.end()) {
        return known->second;
    }
    budget_.spend(place.size);
    std::vector<u64> members;
    for (u32 at = 0; at < place.size; ++at) {
        members.push_back(class_and_index(place.rank_at(at), communicator));
    }
    std::sort(members.begin(), members.end());
    const u64 number =
        of_members | numbers_.try_emplace(std::move(members), numbers_.size()).first->second;
    number_of_members_.emplace(key, number);
    return number;
}

// `mixed` if they differ.
u64 Signatures::common_class_and_index(u32 communicator, u32 plan, u32 level, const Place& place) {
    const u64 ranks = grid_.ranks();
    const u64 key = ((u64{communicator} * model_.collectives.plans.size() + plan) * 64 + level) * ranks + place.base;
    const auto known = common_.find(key);
    if (known != common_.end()) {
        return known->second;
    }
    const u64 first = class_and_index(place.rank_at(0), communicator);
    u64 common = first;
    budget_.spend(place.size);
    for (u32 at = 1; at < place.size && common == first; ++at) {
        if (class_and_index(place.rank_at(at), communicator) != first) {
            common = mixed;
        }
    }
    common_.emplace(key, common);
    return common;
}

}  // namespace yantra
