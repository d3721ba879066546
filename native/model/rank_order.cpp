#include "model/rank_order.hpp"

#include <algorithm>
#include <unordered_map>

#include "base/hash.hpp"

namespace yantra {

namespace {

constexpr u32 most_colour_rounds = 32;

// What two ranks exchange, as one of them sees it.
struct RankPair {
    u32 rank = 0;
    u32 peer = 0;
    u64 hash = 0;      // of the operations of `rank` that name `peer`, in their order
    u64 back = 0;      // the same of `peer`
};

class RankColours {
public:
    explicit RankColours(const Model& model) : model_(model), colours_(model.ranks()) {
        for (u32 rank = 0; rank < colours_.size(); ++rank) {
            read(rank);
        }
        for (RankPair& one : exchanges_) {
            const auto back = of_pair_.find(u64{one.peer} << 32U | one.rank);
            one.back = back == of_pair_.end() ? 0 : exchanges_[back->second].hash;
        }
    }

    Vector<u16> order() {
        std::size_t told_apart = distinct().size();
        for (u32 round = 0; round < most_colour_rounds; ++round) {
            refine();
            const std::size_t now = distinct().size();
            if (now == told_apart) {
                break;
            }
            told_apart = now;
        }
        const Vector<u64> sorted = distinct();
        Vector<u16> order;
        for (u64 colour : colours_) {
            const auto place = std::lower_bound(sorted.begin(), sorted.end(), colour) - sorted.begin();
            order.push_back(static_cast<u16>(std::min<std::ptrdiff_t>(place, 0xffff)));
        }
        return order;
    }

private:
    void read(u32 rank) {
        const Job& job = model_.job(rank);
        u64& colour = colours_[rank];
        const Graph& graph = *job.graph;
        for (u32 node = 0; node < job.ops.size(); ++node) {
            const Op& op = job.ops[node];
            const u64 what = mix(mix(mix(static_cast<u64>(op.kind), op.bytes), op.ticks), graph.parent_count[node]);
            colour = mix(colour, what);
            for (u32 at = graph.child_begin[node]; at < graph.child_begin[node + 1]; ++at) {
                colour = mix(colour, graph.child[at]);
            }
            if (is_message(op)) {
                u64& hash = exchange(rank, model_.peer_at(rank, op.peer)).hash;
                hash = mix(mix(mix(hash, node), op.tag), what);
            }
        }
    }

    RankPair& exchange(u32 rank, u32 peer) {
        const auto [at, is_new] = of_pair_.try_emplace(u64{rank} << 32U | peer, static_cast<u32>(exchanges_.size()));
        if (is_new) {
            exchanges_.push_back({rank, peer});
        }
        return exchanges_[at->second];
    }

    // A sum, as peers have no order.
    void refine() {
        Vector<u64> sums(colours_.size());
        for (const RankPair& one : exchanges_) {
            sums[one.rank] += mix(mix(mix(1, colours_[one.peer]), one.hash), one.back);
        }
        for (u32 rank = 0; rank < colours_.size(); ++rank) {
            colours_[rank] = mix(colours_[rank], sums[rank]);
        }
    }

    Vector<u64> distinct() const {
        Vector<u64> sorted = colours_;
        std::sort(sorted.begin(), sorted.end());
        sorted.erase(std::unique(sorted.begin(), sorted.end()), sorted.end());
        return sorted;
    }

    const Model& model_;
    Vector<u64> colours_;             // by rank
    Vector<RankPair> exchanges_;
    std::unordered_map<u64, u32> of_pair_;   // by rank and peer, into these
};

}  // namespace

Vector<u16> rank_order(const Model& model) {
    return model.job_of.size() < model.ranks() ? Vector<u16>() : RankColours(model).order();
}

}  // namespace yantra
