// Shape answers like a list of offsets searched from the front.
#include "collective/communicator.hpp"

#include <algorithm>
#include <vector>

#include "base/test.hpp"

namespace {

using namespace yantra;
using test::check;

std::vector<u32> any_offsets(test::Random& random) {
    const u64 size = 1 + random.below(8);
    std::vector<u32> offsets{0};   // of the lowest member
    const bool even = random.one_in(3);
    const u64 step = 1 + random.below(5);
    while (offsets.size() < size) {
        offsets.push_back(offsets.back() + static_cast<u32>(even ? step : 1 + random.below(4)));
    }
    if (random.one_in(3)) {
        for (std::size_t i = offsets.size(); i > 1; --i) {
            std::swap(offsets[i - 1], offsets[random.below(i)]);
        }
    }
    return offsets;
}

u32 index_of(const std::vector<u32>& all, u32 offset) {
    const auto found = std::find(all.begin(), all.end(), offset);
    return found == all.end() ? none : static_cast<u32>(found - all.begin());
}

void run(const std::vector<u32>& offsets, u64 step) {
    const Shape shape(offsets);
    std::vector<u32> ascending = offsets;
    std::sort(ascending.begin(), ascending.end());
    check(shape.size() == offsets.size(), "the size is wrong", step);
    check(shape.ascends() == (ascending == offsets), "the order is told wrong", step);
    check((shape.listed() == nullptr) == (shape.stride() != 0), "offsets and a stride, or neither", step);
    for (u32 at = 0; at < offsets.size(); ++at) {
        check(shape.offset(at) == offsets[at], "a position has another offset", step);
    }
    for (u32 offset = 0; offset <= ascending.back() + 3; ++offset) {
        check(shape.position(offset) == index_of(offsets, offset), "another position", step);
        check(shape.place(offset) == index_of(ascending, offset), "another place", step);
    }
}

}  // namespace

int main() {
    test::Random random(0);
    for (u64 step = 0; step < 3'000; ++step) {
        run(any_offsets(random), step);
    }
}
