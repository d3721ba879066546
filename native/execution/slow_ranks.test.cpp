// A slow rank, by hand: work of 100 ticks, where a spell makes it three times as long from 1000 to 1300.
#include <vector>

#include "execution/slow_ranks.hpp"

#include "base/test.hpp"

namespace {

using namespace yantra;
using test::check;

void spells_of_others_change_nothing() {
    const std::vector<SlowSpell> spells{{1, 1000, 1300, 3.0}, {3, 0, 5000, 2.0}};
    const SlowRanks slow(spells);
    for (u32 rank : {0u, 2u, 4u}) {
        check(slow.ticks(rank, 1100, 100) == 100, "a rank without a spell is slow", rank);
    }
    check(slow.ticks(3, 100, 100) == 200, "the spell of a rank does not count", 3);
}

void a_kernel_is_slow_for_the_part_within_a_spell() {
    const std::vector<SlowSpell> spells{{0, 1000, 1300, 3.0}, {0, 1310, 1330, 2.0}};
    const SlowRanks slow(spells);
    struct Case {
        u64 now, work, ticks;
    };
    const Case cases[] = {
        {0, 100, 100},       // long before
        {900, 100, 100},     // ends as the spell begins
        {950, 100, 200},     // 50 before, 50 within: 50 + 150
        {1000, 100, 300},    // all within
        {1000, 110, 310},    // 100 in 300, then 10 between the spells
        {1000, 120, 330},    // and 20 ticks in the second for 10 more
        {1000, 121, 331},    // and one after it
        {1150, 100, 210},    // 50 within, 10 between, 10 in the second, 30 after
        {1330, 100, 100},    // after both
        {1000, 0, 0},        // nothing to do
    };
    for (const Case& of : cases) {
        check(slow.ticks(0, of.now, of.work) == of.ticks, "another time than by hand", of.now + of.work);
    }
}

void work_is_conserved_wherever_it_is_cut() {
    const std::vector<SlowSpell> spells{{0, 1000, 1300, 3.0}, {0, 1310, 1330, 2.0}};
    const SlowRanks slow(spells);
    for (u64 cut = 0; cut <= 120; cut += 3) {   // thirds of the factor, so nothing is rounded
        const u64 first = slow.ticks(0, 1000, cut);
        const u64 both = first + slow.ticks(0, 1000 + first, 150 - cut);
        check(both == slow.ticks(0, 1000, 150), "two halves take another time than the whole", cut);
    }
}

}  // namespace

int main() {
    spells_of_others_change_nothing();
    a_kernel_is_slow_for_the_part_within_a_spell();
    work_is_conserved_wherever_it_is_cut();
}
