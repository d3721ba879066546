// Where each collective's time went on each rank, from issue to completion. A step back from the
// completion counts by its kind if it belongs to the collective, on any rank, and else as queued.
#pragma once

#include <vector>

#include "record/recording.hpp"
#include "model/model.hpp"
#include "run/outcome.hpp"

namespace yantra {

// In ticks, by place; the last six add up to its time.
struct CollectiveParts {
    std::vector<u32> place;
    std::vector<u64> waiting_peers;
    std::vector<u64> queued;
    std::vector<u64> latency;
    std::vector<u64> wire;
    std::vector<u64> hand_over;
    std::vector<u64> reducing;
};

CollectiveParts collective_parts(const Model& model, const Outcome& outcome,
                                 const Recording& recording);

}  // namespace yantra
