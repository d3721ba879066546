// Pool gives every live item an index of its own, keeps its value, and reuses the last freed first.
#include "base/pool.hpp"

#include <map>

#include "base/test.hpp"
#include "base/vector.hpp"

namespace {

using namespace yantra;
using test::check;

void run(u32 seed) {
    test::Random random(seed);
    Pool<u64> pool;
    std::map<u32, u64> live;
    Vector<u32> freed;
    u32 highest = 0;
    for (u64 step = 0; step < 5000; ++step) {
        if (!live.empty() && random.one_in(2 + step % 3)) {
            auto victim = live.begin();
            std::advance(victim, static_cast<std::ptrdiff_t>(random.below(live.size())));
            pool.give_back(victim->first);
            freed.push_back(victim->first);
            live.erase(victim);
            continue;
        }
        const u32 index = pool.take(step);
        if (freed.empty()) {
            check(index == highest++, "a new index does not follow the last", step);
        } else {
            check(index == freed.back(), "another index than the last freed", step);
            freed.pop_back();
        }
        check(live.emplace(index, step).second, "an index was given twice", step);
        for (const auto& [at, value] : live) {
            check(pool[at] == value, "a value changed", step);
        }
    }
}

void what_an_item_held_is_kept_on_request() {
    Pool<u64> pool;
    pool.give_back(pool.take(42));
    check(pool[pool.take_as_left()] == 42, "an item taken as left was cleared", 0);
    check(pool[pool.take()] == 0, "an item taken anew was not", 1);
}

}  // namespace

int main() {
    for (u32 seed = 0; seed < 5; ++seed) {
        run(seed);
    }
    what_an_item_held_is_kept_on_request();
    return 0;
}
