// Sequences that differ have different hashes.
#include "base/hash.hpp"

#include <set>
#include <utility>
#include <vector>

#include "base/test.hpp"

namespace {

using namespace yantra;
using test::check;

u64 hash_of(const std::vector<u64>& numbers) {
    u64 hash = 0;
    for (u64 number : numbers) {
        hash = mix(hash, number);
    }
    return hash;
}

}  // namespace

int main() {
    test::Random random(0);
    std::set<u64> seen;
    for (u64 length = 1; length < 200; ++length) {
        check(seen.insert(hash_of(std::vector<u64>(length, 0))).second, "lengths hash alike",
              length);
    }
    for (u64 step = 0; step < 5000; ++step) {
        std::vector<u64> numbers(2 + random.below(10));
        for (u64& number : numbers) {
            number = random.below(100);
        }
        const u64 hash = hash_of(numbers);
        check(hash == hash_of(numbers), "a sequence hashes to two numbers", step);
        u64& one = numbers[random.below(numbers.size())];
        u64& other = numbers[random.below(numbers.size())];
        ++one;
        check(hash != hash_of(numbers), "sequences that differ in one number hash alike", step);
        --one;
        std::swap(one, other);
        check(one == other || hash != hash_of(numbers), "sequences of another order hash alike", step);
    }
}
