// Numbers of ranks change nothing, and any difference of work shows.
// needs: workload/rank_rules.cpp
#include "model/rank_order.hpp"

#include <algorithm>
#include <vector>

#include "base/test.hpp"
#include "model/test.hpp"

namespace {

using namespace yantra;
using test::check;

using Work = std::vector<std::vector<test::Node>>;

Model model_of(const Work& work) {
    Model model;
    model.network.dimensions = {{Block::fully_connected, static_cast<u32>(work.size()), 1.0, 0.0, 1.0}};
    for (const std::vector<test::Node>& nodes : work) {
        model.work.job_of.push_back(static_cast<u32>(model.work.distinct_jobs.size()));
        model.work.distinct_jobs.push_back(test::job_of(nodes));
        model.work.rules.push_back(nullptr);
    }
    return model;
}

Work any_work(test::Random& random, u32 ranks) {
    Work work(ranks);
    for (u32 at = 0; at < 3 * ranks; ++at) {
        const u32 from = static_cast<u32>(random.below(ranks));
        const u32 to = (from + 1 + static_cast<u32>(random.below(ranks - 1))) % ranks;
        const u64 bytes = 1 + random.below(3);
        work[from].push_back({test::message(true, to, bytes), {}});
        work[to].push_back({test::message(false, from, bytes), {}});
    }
    return work;
}

void a_rank_keeps_its_place_under_another_number(u32 seed) {
    test::Random random(seed);
    const u32 ranks = 2 + static_cast<u32>(random.below(7));
    const Work work = any_work(random, ranks);
    std::vector<u32> number(ranks);
    std::iota(number.begin(), number.end(), 0);
    for (u32 at = ranks; at > 1; --at) {
        std::swap(number[at - 1], number[random.below(at)]);
    }
    Work again(ranks);
    for (u32 rank = 0; rank < ranks; ++rank) {
        again[number[rank]] = work[rank];
        for (test::Node& node : again[number[rank]]) {
            node.op.peer = number[node.op.peer];
        }
    }
    const std::vector<u16> before = rank_order(model_of(work));
    const std::vector<u16> after = rank_order(model_of(again));
    for (u32 rank = 0; rank < ranks; ++rank) {
        check(before[rank] == after[number[rank]], "a number changes the order", rank);
    }
}

void ranks_are_told_apart_by_their_peers() {
    constexpr u32 ranks = 5;
    Work row(ranks);
    Work circle(ranks);
    for (u32 rank = 0; rank < ranks; ++rank) {
        for (Work* work : {&row, &circle}) {
            (*work)[rank].push_back({test::message(false, (rank + ranks - 1) % ranks, 8), {}});
            (*work)[rank].push_back({test::message(true, (rank + 1) % ranks, 8), {0}});
        }
    }
    row[0].erase(row[0].begin());
    row[0][0].parents.clear();
    row[ranks - 1].pop_back();
    std::vector<u16> order = rank_order(model_of(row));
    std::sort(order.begin(), order.end());
    check(order == std::vector<u16>{0, 1, 2, 3, 4}, "ranks of a row are not told apart", 0);
    check(rank_order(model_of(circle)) == std::vector<u16>(ranks, u16{0}), "ranks of a circle are",
          1);
}

void who_is_taken_first_is_told_apart() {
    const Work work = {{{test::message(false, 1, 8), {}}, {test::message(false, 2, 8), {}}},
                       {{test::message(true, 0, 8), {}}},
                       {{test::message(true, 0, 8), {}}}};
    const std::vector<u16> order = rank_order(model_of(work));
    check(order[1] != order[2], "two senders are equal whose receives are not", 0);
}

void neither_strangers_nor_units_change_an_order(u32 seed) {
    test::Random random(seed);
    const u32 ranks = 2 + static_cast<u32>(random.below(5));
    Work work = any_work(random, ranks);
    Work longer = work;
    for (u32 rank = 0; rank < ranks; ++rank) {
        const u64 ticks = 1 + random.below(4);
        work[rank].push_back({test::timed(1, ticks), {}});
        longer[rank].push_back({test::timed(1, 7 * ticks), {}});
    }
    const std::vector<u16> alone = rank_order(model_of(work));
    check(rank_order(model_of(longer)) == alone, "times 7 times as long change the order", seed);
    Work beside = work;
    for (auto& nodes : any_work(random, 9)) {
        for (test::Node& node : nodes) {
            node.op.peer += ranks;
        }
        beside.push_back(std::move(nodes));
    }
    const std::vector<u16> among = rank_order(model_of(beside));
    for (u32 one = 0; one < ranks; ++one) {
        for (u32 other = 0; other < ranks; ++other) {
            check((alone[one] < alone[other]) == (among[one] < among[other]), "strangers change the order", seed);
        }
    }
}

}  // namespace

int main() {
    for (u32 seed = 0; seed < 200; ++seed) {
        a_rank_keeps_its_place_under_another_number(seed);
        neither_strangers_nor_units_change_an_order(seed);
    }
    ranks_are_told_apart_by_their_peers();
    who_is_taken_first_is_told_apart();
}
