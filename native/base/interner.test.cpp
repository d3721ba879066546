// Interner numbers strings by first appearance, whatever their length and however many there are.
#include "base/interner.hpp"

#include <map>
#include <string>

#include "base/test.hpp"

namespace {

using namespace yantra;
using test::check;

std::string any_text(test::Random& random) {
    std::string text(random.below(random.one_in(4) ? 40 : 10), '\0');
    for (char& letter : text) {
        letter = static_cast<char>(random.one_in(8) ? random.below(256) : 'a' + random.below(2));
    }
    return text;
}

void run(u32 seed) {
    test::Random random(seed);
    Interner interner;
    std::map<std::string, u32> oracle;
    for (u64 step = 0; step < 5'000; ++step) {
        const std::string text = any_text(random);
        const auto known = oracle.find(text);
        check(interner.find(text) == (known == oracle.end() ? Interner::absent : known->second),
              "a string is found where it is not", step);
        const u32 wanted = oracle.try_emplace(text, static_cast<u32>(oracle.size())).first->second;
        check(interner.intern(text) == wanted, "a string has another number", step);
    }
    check(interner.names().size() == oracle.size(), "the number of strings is wrong", 5'000);
    for (const auto& [text, number] : oracle) {
        check(interner.names()[number] == text, "a number stands for another string", number);
    }
}

}  // namespace

int main() {
    for (u32 seed = 0; seed < 10; ++seed) {
        run(seed);
    }
}
