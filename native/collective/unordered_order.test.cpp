// UnorderedOrder walks its keys as libstdc++'s unordered_set does. The source is included whole,
// for its table of bucket counts.
#include "collective/unordered_order.cpp"

#include <unordered_set>
#include <vector>

#include "base/test.hpp"

namespace {

using namespace yantra;
using test::check;

using Real = std::unordered_set<u64>;

void compare(const UnorderedOrder& ours, const Real& real, u64 step) {
    check(ours.size() == real.size(), "sizes differ", step);
    check(ours.keys() == std::vector<u64>(real.begin(), real.end()), "orders differ", step);
}

u64 any_key(test::Random& random, bool small) {
    return small ? random.below(300) : random.below(~u64{0});
}

void random_operations(u32 seed) {
    test::Random random(seed);
    const bool small = seed % 2 == 0;
    UnorderedOrder ours;
    Real real;
    for (u64 step = 0; step < 1500; ++step) {
        const u64 key = any_key(random, small);
        if (random.one_in(3)) {
            const u64 victim = real.empty() || small ? key : *real.begin();
            check(ours.erase(victim) == (real.erase(victim) > 0), "erase differs", step);
        } else {
            check(ours.insert(key) == real.insert(key).second, "insert differs", step);
        }
        check(ours.contains(key) == real.contains(key), "contains differs", step);
        compare(ours, real, step);
    }
    UnorderedOrder copy = ours;
    Real real_copy = real;
    copy.insert(7);
    real_copy.insert(7);
    compare(copy, real_copy, 0);
    compare(ours, real, 0);
}

void places(u32 seed) {
    test::Random random(seed);
    UnorderedOrder ours;
    std::vector<u64> inserted;
    for (u64 step = 0; step < 700; ++step) {
        const u64 key = any_key(random, seed % 2 == 0);
        if (ours.insert(key)) {
            inserted.push_back(key);
        }
    }
    std::vector<u64> keys;
    for (u32 place : ours.places()) {
        keys.push_back(inserted[place]);
    }
    check(keys == ours.keys(), "places differ", seed);
}

void growth(u64 stride) {
    UnorderedOrder ours;
    Real real;
    std::size_t buckets = 0;
    for (u64 i = 0; i < 90'000; ++i) {
        ours.insert(i * stride);
        real.insert(i * stride);
        if (real.bucket_count() != buckets) {
            buckets = real.bucket_count();
            compare(ours, real, i);
        }
    }
    compare(ours, real, 0);
}

void bucket_counts_are_those_of_the_library() {
    const std::__detail::_Prime_rehash_policy policy;
    std::size_t buckets = 1;
    for (u64 count : bucket_counts) {
        const std::size_t least = buckets == 1 ? 12 : buckets + 2;
        buckets = policy._M_next_bkt(std::max(least, 2 * buckets));
        check(buckets == count, "a bucket count differs", count);
    }
}

}  // namespace

int main() {
    for (u32 seed = 0; seed < 20; ++seed) {
        random_operations(seed);
        places(seed);
    }
    growth(1);
    growth(1'000'003);
    bucket_counts_are_those_of_the_library();
}
