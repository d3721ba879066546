// Copies of a Shared hold their own writes, whatever the others write.
#include "base/shared.hpp"

#include <string>
#include <vector>

#include "base/test.hpp"

namespace {

using namespace yantra;
using test::check;

constexpr std::size_t copies = 5;

bool are_equal(const SharedVector<u32>& shared, const std::vector<u32>& plain) {
    return std::vector<u32>(shared.begin(), shared.end()) == plain &&
           shared.size() == plain.size() && shared.empty() == plain.empty();
}

void run(u32 seed) {
    test::Random random(seed);
    std::vector<SharedVector<u32>> shared(copies);
    std::vector<std::vector<u32>> plain(copies);
    for (u64 step = 0; step < 500; ++step) {
        const std::size_t at = random.below(copies);
        const std::size_t other = random.below(copies);
        if (random.one_in(3)) {
            shared[at] = shared[other];
            plain[at] = plain[other];
            check(shared[at].is(shared[other]), "a copy is an object of its own", step);
        } else if (random.one_in(8)) {
            shared[at].clear();
            plain[at].clear();
        } else {
            const auto value = static_cast<u32>(random.below(3));
            shared[at].own().push_back(value);
            plain[at].push_back(value);
        }
        for (std::size_t one = 0; one < copies; ++one) {
            check(are_equal(shared[one], plain[one]), "a copy changed with another", step);
            check((shared[one] == shared[other]) == (plain[one] == plain[other]), "equality", step);
        }
    }
}

void what_nobody_else_holds_is_not_copied() {
    Shared<std::string> text(std::string(100, 'a'));
    const char* const before = text.data();
    text.own()[0] = 'b';
    check(text.data() == before && text[0] == 'b', "an own text moved", 0);
    const Shared<std::string> copy = text;
    text.own()[0] = 'c';
    check(copy.data() == before && copy[0] == 'b' && text[0] == 'c', "a copy was written to", 0);
}

}  // namespace

int main() {
    what_nobody_else_holds_is_not_copied();
    for (u32 seed = 0; seed < 20; ++seed) {
        run(seed);
    }
}
