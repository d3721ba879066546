// Blocks holds what a vector would, and an item never moves.
#include "base/blocks.hpp"

#include <vector>

#include "base/test.hpp"

namespace {

using namespace yantra;
using test::check;

void run(u32 seed) {
    test::Random random(seed);
    Blocks<u64> blocks;
    std::vector<u64> oracle;
    std::vector<const u64*> places;
    const u64 count = 65'536 * 5 + random.below(65'536 * 4);   // over borders of blocks made one by one and by fours
    for (u64 step = 0; step < count; ++step) {
        const u64 value = random.below(1'000'000);
        blocks.push_back(value);
        oracle.push_back(value);
        places.push_back(&blocks[step]);
        if (random.one_in(3)) {
            const u64 at = random.below(step + 1);
            blocks[at] = oracle[at] = value + 1;
        }
    }
    check(blocks.size() == oracle.size(), "the number of items is wrong", count);
    check(blocks.bytes() == count * sizeof(u64), "the bytes are not those of its items", count);
    for (u64 at = 0; at < count; ++at) {
        check(blocks[at] == oracle[at], "another item is there", at);
        check(&blocks[at] == places[at], "an item has moved", at);
    }
}

}  // namespace

int main() {
    for (u32 seed = 0; seed < 3; ++seed) {
        run(seed);
    }
}
