#include "fold/representatives.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/disjoint_sets.hpp"

namespace yantra {

namespace {

void add_lowest_ranks(Folding& out, u32 classes) {
    out.representative.assign(classes, none);
    out.count.assign(classes, 0);
    for (u32 rank = 0; rank < out.class_of.size(); ++rank) {
        u32& lowest = out.representative[out.class_of[rank]];
        lowest = std::min(lowest, rank);
        ++out.count[out.class_of[rank]];
    }
}

void add_channels(Folding& out, const RankNames& names) {
    std::map<std::array<u32, 4>, u32> numbers;
    auto number = [&numbers](u32 from, u32 index, u32 to, u32 index_back) {
        return numbers.try_emplace({from, index, to, index_back}, numbers.size()).first->second;
    };
    for (u32 rank_class = 0; rank_class < out.representative.size(); ++rank_class) {
        const u32 rank = out.representative[rank_class];
        std::vector<Folding::Channel> channels;
        for (u32 i = 0; i < names.of(rank).peers.size(); ++i) {
            const u32 peer = names.peer(rank, i);
            const u32 peer_class = out.class_of[peer];
            const u32 index = names.peer_index(rank, peer);
            const u32 index_back = names.peer_index(peer, rank);
            channels.push_back({peer, number(rank_class, index, peer_class, index_back),
                                number(peer_class, index_back, rank_class, index)});
        }
        out.channels.push_back(std::move(channels));
    }
}

void add_communicator_classes(Folding& out, const RankNames& names) {
    const u32 classes = static_cast<u32>(out.representative.size());
    auto named_by = [&](u32 rank) { return static_cast<u32>(names.of(rank).communicators.size()); };
    std::vector<u32> first(classes + 1);   // by rank class: the number of its index 0
    for (u32 at = 0; at < classes; ++at) {
        first[at + 1] = first[at] + named_by(out.representative[at]);
    }
    DisjointSets sets(first.back());
    std::unordered_map<u32, u32> seen;   // by communicator: one (rank class, index) that names it
    for (u32 rank = 0; rank < out.class_of.size(); ++rank) {
        for (u32 i = 0; i < named_by(rank); ++i) {
            const u32 here = first[out.class_of[rank]] + i;
            const auto [entry, fresh] = seen.try_emplace(names.communicator(rank, i), here);
            sets.join(here, entry->second);
        }
    }
    std::map<u32, u32> number;   // by root of the set
    for (u32 at = 0; at < classes; ++at) {
        std::vector<Folding::Membership> memberships;
        for (u32 i = 0; first[at] + i < first[at + 1]; ++i) {
            const auto [entry, fresh] = number.try_emplace(sets.of(first[at] + i), number.size());
            if (fresh) {
                out.communicator_classes.emplace_back();
            }
            out.communicator_classes[entry->second].push_back(at);
            memberships.push_back({names.communicator(out.representative[at], i), entry->second});
        }
        out.memberships.push_back(std::move(memberships));
    }
}

}  // namespace

void add_representatives(Folding& folding, const RankNames& names, u32 classes) {
    add_lowest_ranks(folding, classes);
    add_channels(folding, names);
    add_communicator_classes(folding, names);
}

}  // namespace yantra
