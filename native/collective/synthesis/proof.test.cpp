// Proven steps leave what the collective promises in whatever order they run.
// needs: collective/synthesis/steps.cpp
#include "collective/synthesis/proof.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <queue>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/test.hpp"

namespace {

using namespace yantra;
using namespace yantra::synthesis;
using test::check;

constexpr Promise promises[] = {Promise::all_gather, Promise::reduce_scatter, Promise::all_reduce};

std::vector<Move> gather(u32 ranks, u32 blocks, test::Random& random) {
    std::vector<std::vector<u32>> having(blocks);
    std::vector<Move> moves;
    for (u32 block = 0; block < blocks; ++block) {
        having[block] = {block / (blocks / ranks)};
    }
    for (u32 left = blocks * (ranks - 1); left > 0;) {
        const auto block = static_cast<u32>(random.below(blocks));
        const auto to = static_cast<u32>(random.below(ranks));
        auto& have = having[block];
        if (std::find(have.begin(), have.end(), to) == have.end()) {
            moves.push_back({have[random.below(have.size())], to, block, 1, false});
            have.push_back(to);
            --left;
        }
    }
    return moves;
}

std::vector<Move> moves_for(Promise promise, u32 ranks, u32 blocks, test::Random& random) {
    std::vector<Move> there = gather(ranks, blocks, random);
    std::vector<Move> moves;
    if (promise != Promise::all_gather) {
        for (auto move = there.rbegin(); move != there.rend(); ++move) {
            moves.push_back({move->to, move->from, move->first, move->count, true});
        }
    }
    if (promise != Promise::reduce_scatter) {
        moves.insert(moves.end(), there.begin(), there.end());
    }
    return moves;
}

using Data = std::map<u32, int>;  // how often each rank's part of a block is in a sum, by block * 1000 + rank

bool receives_something(const Step& step) { return step.kind == StepKind::receive || step.kind == StepKind::add; }

class Run {
public:
    Run(const Steps& steps, Promise promise)
        : steps_(steps), promise_(promise), held_(steps.ranks, std::vector<Data>(steps.blocks)), done_(steps.steps.size()) {
        for (const Lane& lane : steps.lanes) {
            next_.push_back(lane.begin);
        }
        for (u32 rank = 0; rank < steps.ranks; ++rank) {
            for (u32 block = 0; block < steps.blocks; ++block) {
                if (promise != Promise::all_gather || owner(block) == rank) {
                    held_[rank][block][block * 1000 + rank] = 1;
                }
            }
        }
    }

    bool ends_right(test::Random& random) {
        for (std::size_t left = steps_.steps.size(); left > 0; --left) {
            std::vector<u32> able;
            for (u32 lane = 0; lane < steps_.lanes.size(); ++lane) {
                if (is_able(lane)) {
                    able.push_back(lane);
                }
            }
            if (able.empty()) {
                return false;
            }
            run(able[random.below(able.size())]);
        }
        return has_all();
    }

private:
    u32 owner(u32 block) const { return block / (steps_.blocks / steps_.ranks); }

    bool is_able(u32 lane) {
        const u32 end = lane + 1 < steps_.lanes.size() ? steps_.lanes[lane + 1].begin : u32(steps_.steps.size());
        if (next_[lane] == end) {
            return false;
        }
        const Step& step = steps_.steps[next_[lane]];
        const Lane& of = steps_.lanes[lane];
        return (step.needs == none || done_[step.needs] != 0) &&
               (!receives_something(step) || !channel_[{of.peer, of.rank}].empty());
    }

    void run(u32 lane) {
        const Step& step = steps_.steps[next_[lane]];
        const Lane& of = steps_.lanes[lane];
        std::vector<Data>& here = held_[of.rank];
        if (step.kind == StepKind::send) {
            channel_[{of.rank, of.peer}].emplace(here.begin() + step.first, here.begin() + step.first + step.count);
        } else if (receives_something(step)) {
            const std::vector<Data> came = channel_[{of.peer, of.rank}].front();
            channel_[{of.peer, of.rank}].pop();
            for (u32 at = 0; at < came.size(); ++at) {
                Data sum = step.kind == StepKind::add ? here[step.first + at] : Data{};
                for (const auto& [what, often] : came[at]) {
                    sum[what] += often;
                }
                here[step.first + at] = sum;
            }
        }
        done_[next_[lane]++] = 1;
    }

    bool has_all() const {
        for (u32 rank = 0; rank < steps_.ranks; ++rank) {
            for (u32 block = 0; block < steps_.blocks; ++block) {
                Data wanted;
                for (u32 from = 0; from < steps_.ranks; ++from) {
                    if (promise_ != Promise::all_gather || owner(block) == from) {
                        wanted[block * 1000 + from] = 1;
                    }
                }
                const bool counts = promise_ != Promise::reduce_scatter || owner(block) == rank;
                if (counts && held_[rank][block] != wanted) {
                    return false;
                }
            }
        }
        return true;
    }

    const Steps& steps_;
    Promise promise_;
    std::vector<std::vector<Data>> held_;
    std::vector<u8> done_;
    std::vector<u32> next_;
    std::map<std::pair<u32, u32>, std::queue<std::vector<Data>>> channel_;
};

void break_one(Steps& steps, test::Random& random) {
    Step& step = steps.steps[random.below(steps.steps.size())];
    switch (random.below(4)) {
        case 0:
            step.needs = none;
            break;
        case 1:
            step.first = static_cast<u32>(random.below(steps.blocks));
            break;
        case 2:
            if (step.kind == StepKind::receive || step.kind == StepKind::add) {
                step.kind = step.kind == StepKind::add ? StepKind::receive : StepKind::add;
            }
            break;
        default:
            if (&step != &steps.steps.back() && (&step)[1].lane == step.lane) {
                std::swap(step.first, (&step)[1].first);
                std::swap(step.needs, (&step)[1].needs);
            }
    }
}

struct Tally {
    u64 proven = 0;
    u64 refused = 0;
    u64 refused_and_wrong = 0;
    std::set<std::string> reasons;
};

void random_steps(u32 seed, Tally& tally) {
    test::Random random(seed);
    const Promise promise = promises[seed % 3];
    const auto ranks = static_cast<u32>(2 + random.below(4));
    const u32 blocks = ranks * static_cast<u32>(1 + random.below(2));
    const std::vector<Move> moves = moves_for(promise, ranks, blocks, random);
    Steps steps = steps_of(ranks, blocks, moves);
    const Proof first = prove(steps, promise);
    check(first.wrong == nullptr, "what is made for moves is proven", seed);
    check(first.messages == moves.size(), "every move is a message", seed);
    for (u32 often = 0; often < 1 + seed % 2; ++often) {
        break_one(steps, random);
    }
    const Proof proof = prove(steps, promise);
    bool is_right = true;
    for (u32 order = 0; order < 40 && is_right; ++order) {
        is_right = Run(steps, promise).ends_right(random);
    }
    check(proof.wrong != nullptr || is_right, "what is proven ends right in every order", seed);
    if (proof.wrong == nullptr) {
        ++tally.proven;
    } else {
        ++tally.refused;
        tally.refused_and_wrong += is_right ? 0 : 1;
        tally.reasons.insert(proof.wrong);
    }
}

void a_message_has_two_ends() {
    Steps alone = steps_of(2, 2, std::array{Move{0, 1, 0, 1, false}});
    alone.steps.pop_back();
    alone.lanes.pop_back();
    check(prove(alone, Promise::all_gather).wrong != nullptr, "a message without a receiver is refused", 0);
}

void two_ranks_that_wait_for_each_other_are_refused() {
    Steps ring = steps_of(2, 2, std::array{Move{0, 1, 0, 1, false}, Move{1, 0, 1, 1, false}});
    for (Step& step : ring.steps) {
        for (u32 other = 0; step.kind == StepKind::send && other < ring.steps.size(); ++other) {
            const bool same_rank = ring.lanes[ring.steps[other].lane].rank == ring.lanes[step.lane].rank;
            if (ring.steps[other].kind == StepKind::receive && same_rank) {
                step.needs = other;
            }
        }
    }
    check(prove(ring, Promise::all_gather).wrong != nullptr, "steps that wait for each other are refused", 0);
}

}  // namespace

int main() {
    Tally tally;
    for (u32 seed = 0; seed < 600; ++seed) {
        random_steps(seed, tally);
    }
    check(tally.proven > 50 && tally.refused_and_wrong > 100, "the broken ones are of both kinds", tally.proven);
    check(tally.refused_and_wrong * 10 > tally.refused * 7, "few are refused that are right", tally.refused);
    check(tally.reasons.size() >= 4, "they break several laws", tally.reasons.size());
    a_message_has_two_ends();
    two_ranks_that_wait_for_each_other_are_refused();
}
