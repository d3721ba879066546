// PhaseLaw: what a phase of the trainer takes, by the tokens of its samples and their squares.
// Trade-off: it does not see single lengths, so what packing makes of them is in its numbers.
#pragma once

#include <cmath>

#include "base/too_long.hpp"
#include "serving/cost/tables.hpp"

namespace yantra::post_training {

using serving::end_of_time;
using serving::no_time;
using serving::Time;

struct Sizes {
    u64 tokens = 0;
    u64 squares = 0;   // of each sample's tokens

    void add(u64 of_sample) {
        tokens += of_sample;
        squares += of_sample * of_sample;
    }
};

class PhaseLaw {
public:
    PhaseLaw() = default;
    PhaseLaw(const PhaseLaw&) = delete;
    PhaseLaw& operator=(const PhaseLaw&) = delete;
    virtual ~PhaseLaw() = default;

    virtual Time of(const Sizes& sizes) const = 0;
};

// base + per_token * tokens + per_square * squares, exactly.
class LinearLaw final : public PhaseLaw {
public:
    LinearLaw(u64 base, u64 per_token, u64 per_square)
        : base_(base), per_token_(per_token), per_square_(per_square) {}

    Time of(const Sizes& sizes) const override {
        u64 linear = 0;
        u64 square = 0;
        bool is_long = __builtin_mul_overflow(per_token_, sizes.tokens, &linear);
        is_long |= __builtin_mul_overflow(per_square_, sizes.squares, &square);
        is_long |= __builtin_add_overflow(linear, square, &linear);
        is_long |= __builtin_add_overflow(linear, base_, &linear);
        if (is_long || linear > longest_ticks) {
            throw TooLong();
        }
        return static_cast<Time>(linear);
    }

private:
    u64 base_;
    u64 per_token_;
    u64 per_square_;
};

// Linear between knots of tokens, rounded to the nearest tick.
class CurveLaw final : public PhaseLaw {
public:
    CurveLaw(serving::Curve by_tokens, double per_square)
        : by_tokens_(std::move(by_tokens)), per_square_(per_square) {}

    Time of(const Sizes& sizes) const override {
        const double ticks =
            by_tokens_.at(static_cast<double>(sizes.tokens)) + per_square_ * static_cast<double>(sizes.squares);
        if (!(ticks < static_cast<double>(latest_tick))) {
            throw TooLong();
        }
        return std::max<Time>(0, std::llround(ticks));
    }

private:
    serving::Curve by_tokens_;
    double per_square_;
};

}  // namespace yantra::post_training
