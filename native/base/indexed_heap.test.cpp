// The top is always the least of what is there, whatever was changed or removed.
#include "base/indexed_heap.hpp"

#include <algorithm>
#include <map>

#include "base/test.hpp"

int main() {
    using namespace yantra;
    test::Random random(0);
    IndexedHeap heap(20);
    std::map<u32, double> slow;
    for (u64 step = 0; step < 20'000; ++step) {
        const u32 number = static_cast<u32>(random.below(20));
        if (random.one_in(3)) {
            heap.remove(number);
            slow.erase(number);
        } else {
            const double key = static_cast<double>(random.below(30));
            heap.set(number, key);
            slow[number] = key;
        }
        test::check(heap.empty() == slow.empty(), "a heap of another size", step);
        test::check(heap.has(number) == (slow.count(number) == 1), "a number that is not there", step);
        if (!slow.empty()) {
            const auto least = std::min_element(slow.begin(), slow.end(), [](const auto& a, const auto& b) {
                return a.second < b.second;
            });
            test::check(slow.count(heap.top()) == 1 && heap.key(heap.top()) == least->second,
                        "a top that is not the least", step);
        }
    }
}
