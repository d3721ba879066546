// Work: how much a run will do, once for each distinct collective. Trade-off: exact only up to what
// the run decides; `bytes_needed` is a lower bound.
#pragma once

#include <optional>
#include <vector>

#include "model/model.hpp"

namespace yantra {

struct TooLarge {
    u32 rank = none;   // the first that enters it
    u32 node = none;
    double bytes = 0.0;
};

struct Work {
    double nodes = 0.0;
    double messages = 0.0;
    double events = 0.0;
    double bytes_moved = 0.0;
    double chunks = 0.0;         // of each rank's largest collective
    double queues = 0.0;
    double queues_in_a_rank = 0.0;
    double bytes_needed = 0.0;   // of memory
    std::optional<TooLarge> too_large;
};

// `ranks`: some ranks; empty: all.
Work work_of(const Model& model, const std::vector<u32>& ranks = {});

}  // namespace yantra
