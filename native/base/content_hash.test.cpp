// Contents that differ have different hashes.
#include "base/content_hash.hpp"

#include <string>
#include <unordered_map>

#include "base/test.hpp"

namespace {

using namespace yantra;
using test::check;

void every_bit_counts(u32 seed) {
    test::Random random(seed);
    std::string content(random.below(300), '\0');
    for (char& byte : content) {
        byte = static_cast<char>(random.below(256));
    }
    std::unordered_map<u64, std::size_t> seen{{content_hash(content), 0}};
    for (std::size_t bit = 0; bit < 8 * content.size(); ++bit) {
        std::string changed = content;
        changed[bit / 8] = static_cast<char>(changed[bit / 8] ^ (1 << (bit % 8)));
        check(seen.try_emplace(content_hash(changed), bit).second, "two contents have one hash", bit);
    }
    for (std::size_t length = 0; length < 200; ++length) {
        check(seen.try_emplace(content_hash(content + std::string(1 + length, '\0')), length).second,
              "two lengths have one hash", length);
    }
    check(content_hash(content) == content_hash(std::string(content)), "a hash changes", seed);
}

}  // namespace

int main() {
    for (u32 seed = 0; seed < 20; ++seed) {
        every_bit_counts(seed);
    }
}
