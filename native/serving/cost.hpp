// Cost: how long iterations take while only contexts grow.
#pragma once

#include <algorithm>
#include <memory>

#include "serving/asked/batch.hpp"

namespace yantra::serving {

// first, first + growth, first + 2 growth, ...: for `count` of them.
struct Pace {
    Time first = 0;
    Time growth = 0;
    u64 count = 1;

    Time last(u64 of) const { return first + growth * static_cast<Time>(of - 1); }
    Time total(u64 of) const {
        const auto many = static_cast<Time>(of);
        return first * many + growth * (many * (many - 1) / 2);
    }
    // How many end by then, of at most `most`.
    u64 ended(Time time, u64 most) const {
        const u64 reached = reaching(time, most);
        return total(reached) <= time ? reached : reached - 1;
    }
    // The longer of both at each step, for as long as that is always the same one.
    Pace slower(const Pace& other) const {
        const bool is_other = other.first != first ? other.first > first : other.growth > growth;
        const Pace& longer = is_other ? other : *this;
        const Pace& shorter = is_other ? *this : other;
        u64 steps = std::min(count, other.count);
        if (shorter.growth > longer.growth) {
            steps = std::min(steps, static_cast<u64>((longer.first - shorter.first) / (shorter.growth - longer.growth)) + 1);
        }
        return {longer.first, longer.growth, steps};
    }
    u64 reaching(Time time, u64 most) const {
        u64 low = 1;
        for (u64 high = most; low < high;) {
            const u64 middle = low + (high - low) / 2;
            if (total(middle) >= time) {
                high = middle;
            } else {
                low = middle + 1;
            }
        }
        return low;
    }
};

struct Amounts {
    double operations = 0.0;
    double heavy_ns = 0.0;   // in kernels that read weights or keys

    Amounts& operator+=(const Amounts& other) {
        operations += other.operations;
        heavy_ns += other.heavy_ns;
        return *this;
    }
};

class Cost {
public:
    Cost() = default;
    Cost(const Cost&) = delete;
    Cost& operator=(const Cost&) = delete;
    virtual ~Cost() = default;

    // And of those alike after it: each sequence has one token more. At most `most`.
    virtual Pace pace(const Batch& batch, u64 most) const = 0;
    // Of `count` iterations alike.
    virtual Amounts amounts(const Batch& /*batch*/, u64 /*count*/) const { return {}; }
};

}  // namespace yantra::serving
