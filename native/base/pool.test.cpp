// Every live item has an index of its own; the last freed is reused first, and cannot be read
// unnoticed.
#include "base/pool.hpp"

#include <map>
#include <vector>

#include "base/test.hpp"

namespace {

using namespace yantra;
using test::check;

void run(u32 seed) {
    test::Random random(seed);
    Pool<u64> pool;
    std::map<u32, u64> live;
    std::vector<u32> freed;
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

void what_is_given_back_is_poisoned() {
    struct Item {
        u64 wide = 1;
        u32 narrow = 2;
        bool flag = false;
    };
    Pool<Item> pool;
    const u32 kept = pool.take();
    const u32 index = pool.take({42, 43, true});
    pool.give_back(index);
    static_assert(Poison::is_on, "tests are built with YANTRA_POISON");
    const auto* const bytes = reinterpret_cast<const unsigned char*>(&pool[index]);
    for (u64 at = 0; at < sizeof(Item); ++at) {
        check(bytes[at] == Poison::pattern, "a byte of a freed item could still be read", at);
    }
    check(pool[kept].wide == 1 && pool[kept].narrow == 2, "another item changed", 0);
    check(pool.take() == index && pool[index].wide == 1, "an item taken anew was not cleared", 1);
}

void what_may_be_read_while_it_is_free_stays() {
    Pool<u64, Freed::readable> pool;
    const u32 index = pool.take(42);
    pool.give_back(index);
    check(pool[index] == 42, "a freed item that may be read changed", 0);
    check(pool[pool.take_as_left()] == 42, "an item taken as left was cleared", 1);
    check(pool[pool.take()] == 0, "a new item is not cleared", 2);
}

void items_with_room_of_their_own_keep_it() {
    Pool<std::vector<u32>> pool;
    const u32 index = pool.take_as_left();
    pool[index].resize(100);
    pool.give_back(index);
    check(pool.take_as_left() == index && pool[index].capacity() >= 100, "its room is gone", 0);
}

void a_pool_grows_and_ends_with_free_items() {
    Pool<std::vector<u32>> pool;
    for (u32 at = 0; at < 10; ++at) {
        pool[pool.take_as_left()].resize(at);
    }
    pool.give_back(3);
    pool.give_back(7);
    pool.reserve(1000);
    check(pool.take_as_left() == 7 && pool[7].size() == 7, "an item changed as the pool grew", 0);
}

}  // namespace

int main() {
    for (u32 seed = 0; seed < 5; ++seed) {
        run(seed);
    }
    what_is_given_back_is_poisoned();
    what_may_be_read_while_it_is_free_stays();
    items_with_room_of_their_own_keep_it();
    a_pool_grows_and_ends_with_free_items();
}
