#include "model/rank_order.hpp"

#include <algorithm>
#include <numeric>
#include <unordered_map>
#include <utility>

#include "base/hash.hpp"

namespace yantra {

namespace {

constexpr u32 most_colour_rounds = 32;
constexpr u32 time_rounds = 2;
constexpr u64 weights = 0xff;   // of summands, so that their order counts
__extension__ using Time = unsigned __int128;

struct RankPair {
    u32 rank = 0;
    u32 peer = 0;
    u64 hash = 0;      // of the operations of `rank` that name `peer`, in order
    u64 back = 0;      // the same of `peer`
};

class RankColours {
public:
    explicit RankColours(const Model& model)
        : model_(model), colours_(model.ranks()), times_(model.ranks()), places_(model.ranks()) {
        for (u32 rank = 0; rank < colours_.size(); ++rank) {
            read(rank);
        }
        for (RankPair& one : exchanges_) {
            const auto back = of_pair_.find(u64{one.peer} << 32U | one.rank);
            one.back = back == of_pair_.end() ? 0 : exchanges_[back->second].hash;
        }
    }

    std::vector<u16> order() {
        u32 told_apart = tell_apart_by(colours_);
        for (u32 round = 0; round < most_colour_rounds; ++round) {
            refine();
            const u32 before = told_apart;
            told_apart = tell_apart_by(colours_);
            if (told_apart == before) {
                break;
            }
        }
        for (u32 round = 0; round < time_rounds; ++round) {
            tell_apart_by(times_);
            add_times_of_peers();
        }
        tell_apart_by(times_);
        std::vector<u16> order;
        for (u32 place : places_) {
            order.push_back(static_cast<u16>(std::min<u32>(place, 0xffff)));
        }
        return order;
    }

private:
    void read(u32 rank) {
        const Job& job = model_.work.job(rank);
        u64& colour = colours_[rank];
        const Graph& graph = *job.graph;
        for (u32 node = 0; node < job.ops.size(); ++node) {
            const Op& op = job.ops[node];
            const u64 what = mix(mix(static_cast<u64>(op.kind), op.bytes), graph.parent_count[node]);
            colour = mix(colour, what);
            times_[rank] += op.kind == OpKind::timed ? op.ticks * weight(node) : Time{0};
            for (u32 at = graph.child_begin[node]; at < graph.child_begin[node + 1]; ++at) {
                colour = mix(colour, graph.child[at]);
            }
            if (is_message(op)) {
                u64& hash = exchange(rank, model_.work.peer_at(rank, op.peer)).hash;
                hash = mix(mix(hash, node), what);
            }
        }
    }

    static Time weight(u64 hash) { return 1 + (mix(1, hash) & weights); }

    RankPair& exchange(u32 rank, u32 peer) {
        const auto [at, is_new] = of_pair_.try_emplace(u64{rank} << 32U | peer, static_cast<u32>(exchanges_.size()));
        if (is_new) {
            exchanges_.push_back({rank, peer});
        }
        return exchanges_[at->second];
    }

    void refine() {
        std::vector<u64> sums(colours_.size());
        for (const RankPair& one : exchanges_) {
            sums[one.rank] += mix(mix(mix(1, colours_[one.peer]), one.hash), one.back);
        }
        for (u32 rank = 0; rank < colours_.size(); ++rank) {
            colours_[rank] = mix(colours_[rank], sums[rank]);
        }
    }

    void add_times_of_peers() {
        const std::vector<Time> before = times_;
        for (const RankPair& one : exchanges_) {
            times_[one.rank] += before[one.peer] * weight(mix(one.hash, one.back));
        }
    }

    // Keeps established order, so that a pair's does not depend on how often others are visited.
    template <class Key>
    u32 tell_apart_by(const std::vector<Key>& keys) {
        std::vector<u32> ranks(places_.size());
        std::iota(ranks.begin(), ranks.end(), u32{0});
        const auto key = [&](u32 rank) { return std::pair(places_[rank], keys[rank]); };
        std::sort(ranks.begin(), ranks.end(), [&key](u32 one, u32 other) { return key(one) < key(other); });
        std::vector<u32> places(places_.size());
        u32 place = 0;
        for (std::size_t at = 1; at < ranks.size(); ++at) {
            place += key(ranks[at - 1]) < key(ranks[at]) ? 1 : 0;
            places[ranks[at]] = place;
        }
        places_ = std::move(places);
        return place + 1;
    }

    const Model& model_;
    std::vector<u64> colours_;             // by rank
    std::vector<Time> times_;              // by rank: of its nodes, and later of its peers, each with a weight
    std::vector<u32> places_;              // by rank, in the order as far as it is known
    std::vector<RankPair> exchanges_;
    std::unordered_map<u64, u32> of_pair_;   // by rank and peer, into these
};

}  // namespace

std::vector<u16> rank_order(const Model& model) {
    return model.work.job_of.size() < model.ranks() ? std::vector<u16>()
                                                    : RankColours(model).order();
}

}  // namespace yantra
