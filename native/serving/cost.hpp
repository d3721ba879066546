// Cost: how long an iteration takes, and those that follow it while nothing but contexts grows.
#pragma once

#include <memory>

#include "serving/batch.hpp"

namespace yantra::serving {

// Iterations that take first, first + growth, first + 2 growth, ...: for `count` of them.
struct Pace {
    Time first = 0;
    Time growth = 0;
    u64 count = 1;

    Time last(u64 of) const { return first + growth * static_cast<Time>(of - 1); }
    Time total(u64 of) const {
        const auto many = static_cast<Time>(of);
        return first * many + growth * (many * (many - 1) / 2);
    }
    // The fewest whose total is at least `time`, if `most` reach it; else `most`.
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

// What a device does in some iterations.
struct Amounts {
    double operations = 0.0;
    double heavy_ns = 0.0;   // in kernels that read weights or keys
};

class Cost {
public:
    Cost() = default;
    Cost(const Cost&) = delete;
    Cost& operator=(const Cost&) = delete;
    virtual ~Cost() = default;

    // Of the batch, and of those alike after it: each sequence has one token more. At most `most`.
    virtual Pace pace(const Batch& batch, u64 most) const = 0;
    // Of `count` iterations alike.
    virtual Amounts amounts(const Batch& /*batch*/, u64 /*count*/) const { return {}; }
};

}  // namespace yantra::serving
