// DisjointSets: which of some numbers were joined. (Galler and Fischer, CACM 1964.)
#pragma once

#include <algorithm>
#include <numeric>
#include <vector>

#include "base/types.hpp"

namespace yantra {

class DisjointSets {
public:
    explicit DisjointSets(u32 size) : above_(size) { std::iota(above_.begin(), above_.end(), 0U); }
    u32 of(u32 one) {
        while (above_[one] != one) {
            one = above_[one] = above_[above_[one]];
        }
        return one;
    }
    // The least names both.
    void join(u32 one, u32 other) {
        one = of(one);
        other = of(other);
        above_[std::max(one, other)] = std::min(one, other);
    }

private:
    std::vector<u32> above_;
};

}  // namespace yantra
