#include "collective/synthesis/steps.hpp"

#include <algorithm>
#include <unordered_map>
#include <vector>

#include "base/ensure.hpp"
#include "base/interruption.hpp"

namespace yantra::synthesis {

namespace {

// Numbers are within the rank.
struct Place {
    u32 lane;
    u32 number;
};

struct Draft {
    StepKind kind;
    u32 first;
    u32 count;
    Place needs;
};

constexpr Place nowhere{none, none};

class RankSteps {
public:
    explicit RankSteps(u32 blocks) : writer_(blocks, nowhere), readers_(blocks, none) {}

    void send(const Move& move) {
        needs_.clear();
        for (u32 block = move.first; block < move.first + move.count; ++block) {
            note(writer_[block]);
        }
        const Place at = add(move.to, true, {StepKind::send, move.first, move.count, nowhere});
        for (u32 block = move.first; block < move.first + move.count; ++block) {
            readings_.push_back({at, readers_[block]});
            readers_[block] = static_cast<u32>(readings_.size() - 1);
        }
    }

    void receive(const Move& move) {
        needs_.clear();
        for (u32 block = move.first; block < move.first + move.count; ++block) {
            note(writer_[block]);
            for (u32 reading = readers_[block]; reading != none; reading = readings_[reading].before) {
                note(readings_[reading].at);
            }
            readers_[block] = none;
        }
        const StepKind kind = move.adds ? StepKind::add : StepKind::receive;
        const Place at = add(move.from, false, {kind, move.first, move.count, nowhere});
        std::fill_n(writer_.begin() + move.first, move.count, at);
    }

    void append_to(Steps& all, u32 rank) const {
        std::vector<u32> begin;
        u32 next = static_cast<u32>(all.steps.size());
        for (const OwnLane& lane : lanes_) {
            begin.push_back(next);
            next += static_cast<u32>(lane.steps.size());
        }
        for (u32 own = 0; own < lanes_.size(); ++own) {
            const auto lane = static_cast<u32>(all.lanes.size());
            all.lanes.push_back({rank, lanes_[own].peer, lanes_[own].sends, begin[own]});
            for (const Draft& step : lanes_[own].steps) {
                const u32 needs = step.needs.lane == none ? none : begin[step.needs.lane] + step.needs.number;
                all.steps.push_back({step.kind, lane, step.first, step.count, needs});
            }
        }
    }

private:
    struct OwnLane {
        u32 peer;
        bool sends;
        std::vector<Draft> steps;
    };

    struct Reading {
        Place at;
        u32 before;
    };

    void note(Place at) {
        if (at.lane != none) {
            needs_.push_back(at);
        }
    }

    Place add(u32 peer, bool sends, Draft draft) {
        const auto found = lane_of_.try_emplace(u64{peer} * 2 + (sends ? 1 : 0), static_cast<u32>(lanes_.size()));
        const u32 lane = found.first->second;
        if (found.second) {
            lanes_.push_back({peer, sends, {}});
        }
        keep_last_of_each_lane(lane);
        std::vector<Draft>& steps = lanes_[lane].steps;
        for (std::size_t at = 1; at < needs_.size(); ++at) {
            steps.push_back({StepKind::nop, 0, 0, needs_[at]});
        }
        draft.needs = needs_.empty() ? nowhere : needs_[0];
        steps.push_back(draft);
        return {lane, static_cast<u32>(steps.size() - 1)};
    }

    void keep_last_of_each_lane(u32 own) {
        erase_if(needs_, [own](const Place& at) { return at.lane == own; });
        std::sort(needs_.begin(), needs_.end(), [](const Place& one, const Place& other) {
            return one.lane != other.lane ? one.lane < other.lane : one.number > other.number;
        });
        const auto same = [](const Place& one, const Place& other) { return one.lane == other.lane; };
        needs_.erase(std::unique(needs_.begin(), needs_.end(), same), needs_.end());
    }

    std::vector<OwnLane> lanes_;
    std::unordered_map<u64, u32> lane_of_;
    std::vector<Place> writer_;  // of each block, the last step that wrote it
    std::vector<u32> readers_;   // of each block, the last reading since
    std::vector<Reading> readings_;
    std::vector<Place> needs_;
};

}  // namespace

Steps steps_of(u32 ranks, u32 blocks, std::span<const Move> moves) {
    std::vector<RankSteps> of_rank(ranks, RankSteps(blocks));
    for (const Move& move : moves) {
        look_up();
        ensure(move.from < ranks && move.to < ranks && move.from != move.to, "a move joins two ranks");
        ensure(move.count > 0 && move.first < blocks && move.count <= blocks - move.first, "a move carries blocks");
        of_rank[move.from].send(move);
        of_rank[move.to].receive(move);
    }
    Steps all{ranks, blocks, {}, {}};
    for (u32 rank = 0; rank < ranks; ++rank) {
        of_rank[rank].append_to(all, rank);
    }
    return all;
}

}  // namespace yantra::synthesis
