// LinearCost: so much an iteration, a token, and a token of context.
#pragma once

#include "serving/cost.hpp"

namespace yantra::serving {

struct LinearCost final : Cost {
    Time per_iteration;
    Time per_token;
    Time per_context_token;   // of each that a sequence then has

    LinearCost(Time iteration, Time token, Time context_token)
        : per_iteration(iteration), per_token(token), per_context_token(context_token) {}

    Pace pace(const Batch& batch, u64 most) const override {
        const auto tokens = static_cast<Time>(batch.tokens);
        const auto context = static_cast<Time>(batch.context);
        return {per_iteration + per_token * tokens + per_context_token * (tokens + context),
                per_context_token * static_cast<Time>(batch.sequences()), most};
    }
};

}  // namespace yantra::serving
