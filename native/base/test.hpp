// For tests: repeatable random numbers, and a check that says where it failed.
#pragma once

#include <cstdio>
#include <cstdlib>
#include <random>

#include "base/types.hpp"

namespace yantra::test {

inline void check(bool holds, const char* what, u64 step) {
    if (!holds) {
        std::printf("%s (step %llu)\n", what, static_cast<unsigned long long>(step));
        std::exit(1);
    }
}

class Random {
public:
    explicit Random(u32 seed) : engine_(seed) {}

    u64 below(u64 bound) { return engine_() % bound; }
    bool one_in(u64 count) { return below(count) == 0; }

private:
    std::mt19937_64 engine_;
};

}  // namespace yantra::test
