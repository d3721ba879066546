// Stretches hold the bytes that a set holds.
#include "network/packet/stretches.hpp"

#include <set>

#include "base/test.hpp"
#include "engine/rng.hpp"

int main() {
    using namespace yantra;
    using test::check;
    for (u64 seed = 0; seed < 200; ++seed) {
        Rng random(seed, 1, 2);
        packet::Stretches stretches;
        std::set<u64> bytes;
        u64 least = 0;
        for (u64 step = 0; step < 60; ++step) {
            const u64 from = least + static_cast<u64>(random.uniform() * 80.0);
            const u64 to = from + 1 + static_cast<u64>(random.uniform() * 9.0);
            const std::size_t before = bytes.size();
            for (u64 byte = from; byte < to; ++byte) {
                bytes.insert(byte);
            }
            check(stretches.add(from, to) == bytes.size() - before, "the bytes that are new", step);
            if (random.uniform() < 0.1) {
                least += 7;
                stretches.forget_before(least);
                bytes.erase(bytes.begin(), bytes.lower_bound(least));
            }
            check(stretches.bytes() == bytes.size(), "all bytes", step);
            check(stretches.empty() == bytes.empty(), "empty", step);
            check(bytes.empty() || stretches.end() == *bytes.rbegin() + 1, "the end", step);
            for (u64 byte = least; byte < least + 95; ++byte) {
                check(stretches.has(byte) == (bytes.count(byte) == 1), "a byte", step);
            }
            for (std::size_t at = 1; at < stretches.all().size(); ++at) {
                check(stretches.all()[at - 1].to < stretches.all()[at].from, "ranges apart", step);
            }
        }
    }
}
