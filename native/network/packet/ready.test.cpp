// Ready holds what a set of places holds.
#include "network/packet/ready.hpp"

#include <set>

#include "base/test.hpp"
#include "engine/rng.hpp"

int main() {
    using namespace yantra;
    for (u64 seed = 0; seed < 50; ++seed) {
        Rng random(seed, 1, 2);
        packet::Ready ready;
        std::set<u32> places;
        for (u64 step = 0; step < 400; ++step) {
            const u32 at = static_cast<u32>(random.below(300));
            if (random.uniform() < 0.4) {
                ready.set(at);
                places.insert(at);
            } else if (ready.has(at)) {
                ready.clear(at);
                places.erase(at);
            }
            const u32 from = static_cast<u32>(random.below(300));
            const u32 end = static_cast<u32>(random.below(400));
            const auto next = places.lower_bound(from);
            const u32 expected = next == places.end() || *next >= end ? end : *next;
            test::check(ready.from(from, end) == expected || (from >= end && ready.from(from, end) == end), "the next", step);
        }
    }
}
