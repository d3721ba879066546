// It holds what a std::map holds.
#include "base/number_map.hpp"

#include <map>

#include "base/test.hpp"

int main() {
    using namespace yantra;
    test::Random random(0);
    for (u64 keys : {u64{8}, u64{40}, u64{5'000}}) {
        NumberMap<u32> numbers;
        std::map<u64, u32> slow;
        for (u64 step = 0; step < 40'000; ++step) {
            const u64 key = random.below(keys) << (random.one_in(2) ? 32U : 0U);
            const u32* const found = numbers.find(key);
            test::check((found != nullptr) == (slow.count(key) == 1), "a key that is not there, or is", step);
            if (found == nullptr) {
                numbers.add(key, static_cast<u32>(step));
                slow[key] = static_cast<u32>(step);
            } else {
                test::check(*found == slow[key], "another value", step);
                if (random.one_in(2)) {
                    numbers.erase(key);
                    slow.erase(key);
                }
            }
            test::check(numbers.size() == slow.size(), "another size", step);
        }
        for (const auto& [key, value] : slow) {
            test::check(*numbers.find(key) == value, "another value at the end", key);
        }
        numbers.clear();
        test::check(numbers.size() == 0 && numbers.find(0) == nullptr, "something is left", keys);
    }
}
