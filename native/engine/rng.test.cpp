// The numbers of a (seed, purpose, id) are always the same; below() is even.
#include "engine/rng.hpp"

#include <set>
#include <vector>

#include "base/test.hpp"

namespace {

using namespace yantra;
using test::check;

std::vector<u64> numbers(Rng rng) {
    std::vector<u64> all(20);
    for (u64& number : all) {
        number = rng();
    }
    return all;
}

void streams_are_told_apart() {
    std::set<std::vector<u64>> seen;
    std::set<u64> first;
    for (u64 seed : {0, 1, 2, 1000}) {
        for (u64 purpose = 0; purpose < 10; ++purpose) {
            for (u64 id = 0; id < 100; ++id) {
                const std::vector<u64> own = numbers({seed, purpose, id});
                check(own == numbers({seed, purpose, id}), "a stream gives other numbers", id);
                check(seen.insert(own).second, "two streams are the same", id);
                check(first.insert(own.front()).second, "two streams begin alike", id);
            }
        }
    }
}

void order_of_asking_does_not_matter() {
    const u32 count = 8;
    std::vector<Rng> streams;
    std::vector<std::vector<u64>> seen(count);
    for (u64 id = 0; id < count; ++id) {
        streams.emplace_back(3, 4, id);
    }
    test::Random random(0);
    for (u64 step = 0; step < 1000; ++step) {
        const u64 id = random.below(count);
        seen[id].push_back(streams[id]());
    }
    for (u64 id = 0; id < count; ++id) {
        Rng alone(3, 4, id);
        for (u64 number : seen[id]) {
            check(number == alone(), "a stream depends on the others", id);
        }
    }
}

// Ten standard deviations of chi-square.
void below_is_even(u64 bound, u64 id) {
    const u64 each = 2000;
    std::vector<u64> hits(bound);
    Rng rng(7, 7, id);
    for (u64 draw = 0; draw < each * bound; ++draw) {
        const u64 number = rng.below(bound);
        check(number < bound, "a number is not below its bound", bound);
        ++hits[number];
    }
    double chi_square = 0.0;
    for (u64 hit : hits) {
        const double off = static_cast<double>(hit) - static_cast<double>(each);
        chi_square += off * off / static_cast<double>(each);
    }
    const double freedom = static_cast<double>(bound - 1);
    check((chi_square - freedom) * (chi_square - freedom) < 100 * 2 * (freedom + 1),
          "numbers below a bound are uneven", bound);
}

void below_a_large_bound_is_even() {
    const u64 bound = 3ULL << 62U;
    Rng rng(7, 8, 0);
    u64 low = 0;
    for (u64 draw = 0; draw < 30'000; ++draw) {
        const u64 number = rng.below(bound);
        check(number < bound, "a number is not below a large bound", draw);
        low += number < bound / 3 ? 1 : 0;
    }
    check(low > 9500 && low < 10'500, "numbers below a large bound are uneven", low);
}

void uniform_is_in_its_interval() {
    Rng rng(1, 2, 3);
    double sum = 0.0;
    for (u64 draw = 0; draw < 10'000; ++draw) {
        const double x = rng.uniform();
        check(x >= 0.0 && x < 1.0, "not in [0, 1)", draw);
        sum += x;
    }
    check(sum > 4850.0 && sum < 5150.0, "the mean is not a half", 0);
}

}  // namespace

int main() {
    streams_are_told_apart();
    order_of_asking_does_not_matter();
    for (u64 bound : {1, 2, 3, 10, 64, 100}) {
        for (u64 id = 0; id < 5; ++id) {
            below_is_even(bound, id);
        }
    }
    below_a_large_bound_is_even();
    uniform_is_in_its_interval();
}
