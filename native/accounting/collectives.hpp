// Where each collective's time went on each rank, from issue to completion.
//
// A step back from the completion counts by its kind if it belongs to the collective, on any rank,
// and else as queued. Time before a peer issued the collective is waiting for it.
#pragma once

#include "base/vector.hpp"
#include "record/recording.hpp"
#include "model/model.hpp"
#include "run/outcome.hpp"

namespace yantra {

// In ticks, by place, of each collective that ended; the last six add up to its time.
struct CollectiveParts {
    Vector<u32> place;
    Vector<u64> waiting_peers;
    Vector<u64> queued;
    Vector<u64> latency;
    Vector<u64> wire;
    Vector<u64> hand_over;
    Vector<u64> reducing;
};

CollectiveParts collective_parts(const Model& model, const Outcome& outcome,
                                 const Recording& recording);

}  // namespace yantra
