// A line holds what a vector holds.
#include <vector>

#include "collective/runtime/chunk_line.hpp"

#include "base/test.hpp"

namespace {

using namespace yantra;
using test::check;

void it_is_a_vector(u32 seed) {
    test::Random random(seed);
    ChunkLine line;
    std::vector<ChunkId> slow;
    const u64 most = 1 + random.below(40);
    for (u32 step = 0; step < 2000; ++step) {
        if (slow.size() < most && random.one_in(2)) {
            const std::size_t at = random.one_in(2) ? slow.size() : random.below(slow.size() + 1);
            line.insert(at, ChunkId(step));
            slow.insert(slow.begin() + static_cast<std::ptrdiff_t>(at), ChunkId(step));
        } else if (!slow.empty()) {
            const auto at = static_cast<std::ptrdiff_t>(
                random.one_in(2) ? random.below(std::min<u64>(3, slow.size())) : random.below(slow.size()));
            line.erase(*(line.begin() + at));
            slow.erase(slow.begin() + at);
        }
        check(line.size() == slow.size() && line.empty() == slow.empty(), "another size", step);
        check(std::equal(slow.begin(), slow.end(), line.begin(), line.end()), "other chunks", step);
        check(slow.empty() || (line.back() == slow.back() && line[0] == slow[0]), "another end", step);
    }
}

}  // namespace

int main() {
    for (u32 seed = 0; seed < 50; ++seed) {
        it_is_a_vector(seed);
    }
}
