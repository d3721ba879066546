// first_bad_utf8 agrees with decoding by arithmetic.
#include "base/utf8.hpp"

#include <string>

#include "base/test.hpp"

namespace {

using namespace yantra;
using test::check;

std::string encoded(u64 scalar) {
    auto tail = [&](u32 shift) { return static_cast<char>(0x80 | (scalar >> shift & 0x3f)); };
    if (scalar < 0x80) {
        return {static_cast<char>(scalar)};
    }
    if (scalar < 0x800) {
        return {static_cast<char>(0xc0 | scalar >> 6), tail(0)};
    }
    if (scalar < 0x10000) {
        return {static_cast<char>(0xe0 | scalar >> 12), tail(6), tail(0)};
    }
    return {static_cast<char>(0xf0 | scalar >> 18), tail(12), tail(6), tail(0)};
}

std::size_t slow_sequence(const std::string& text) {
    for (std::size_t bytes = 1; bytes <= 4 && bytes <= text.size(); ++bytes) {
        const u64 lead = static_cast<u8>(text[0]);
        u64 scalar = bytes == 1 ? lead : lead & (0xffu >> (bytes + 1));
        for (std::size_t i = 1; i < bytes; ++i) {
            scalar = scalar << 6 | (static_cast<u8>(text[i]) & 0x3f);
        }
        const bool is_scalar = scalar < 0x110000 && (scalar < 0xd800 || scalar > 0xdfff);
        if (is_scalar && encoded(scalar) == text.substr(0, bytes)) {
            return bytes;
        }
    }
    return 0;
}

std::size_t slow_first_bad(const std::string& text) {
    std::size_t at = 0;
    while (at < text.size()) {
        const std::size_t bytes = slow_sequence(text.substr(at));
        if (bytes == 0) {
            break;
        }
        at += bytes;
    }
    return at;
}

void every_short_sequence() {
    for (u64 first = 0x80; first < 0x100; ++first) {
        for (u64 second = 0; second < 0x100; ++second) {
            const std::string text = {static_cast<char>(first), static_cast<char>(second), '\x80',
                                      '\xbf'};
            check(first_bad_utf8(text) == slow_first_bad(text), "another byte is wrong",
                  first << 8 | second);
        }
    }
}

void run(u32 seed) {
    test::Random random(seed);
    for (u64 step = 0; step < 2'000; ++step) {
        std::string text;
        for (u64 left = random.below(12); left > 0; --left) {
            text += random.one_in(2) ? std::string(random.below(12), 'x')
                                     : encoded(random.below(0x110000));
        }
        if (!text.empty() && random.one_in(2)) {
            text[random.below(text.size())] = static_cast<char>(random.below(256));
        }
        text.resize(text.size() - (random.one_in(4) && !text.empty() ? 1 : 0));
        check(first_bad_utf8(text) == slow_first_bad(text), "another byte is wrong", step);
    }
}

}  // namespace

int main() {
    every_short_sequence();
    for (u32 seed = 0; seed < 5; ++seed) {
        run(seed);
    }
}
