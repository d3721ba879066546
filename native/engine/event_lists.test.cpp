// A list that is taken is nobody else's, and keeps its items when it grows.
#include <vector>

#include "engine/event_lists.hpp"

#include "base/test.hpp"

namespace {

using namespace yantra;
using test::check;

struct Taken {
    u32* list;
    std::vector<u32> wanted;
};

void fill(Taken& taken, u32 room, test::Random& random) {
    while (taken.wanted.size() < room) {
        const auto index = static_cast<u32>(random.below(1000));
        taken.list[taken.wanted.size()] = index;
        taken.wanted.push_back(index);
    }
}

void run(u32 seed) {
    test::Random random(seed);
    EventLists lists;
    std::vector<Taken> out;
    for (u64 step = 0; step < 2000; ++step) {
        const auto most = static_cast<u32>(1 + random.below(u64{1} << random.below(10)));
        if (out.empty() || random.below(3) == 0) {
            out.push_back({lists.take(most), {}});
            fill(out.back(), most, random);
        } else if (Taken& some = out[random.below(out.size())]; random.below(2) == 0) {
            const auto count = static_cast<u32>(some.wanted.size());
            some.list = lists.with_room(some.list, count, most);
            fill(some, count + most, random);
        } else {
            lists.give_back(some.list);
            std::swap(some, out.back());
            out.pop_back();
        }
        for (const Taken& taken : out) {
            check(std::equal(taken.wanted.begin(), taken.wanted.end(), taken.list), "a list was written over", step);
        }
        if (out.size() > 20) {
            lists.give_back(out.back().list);
            out.pop_back();
        }
    }
}

}  // namespace

int main() {
    for (u32 seed = 0; seed < 10; ++seed) {
        run(seed);
    }
}
