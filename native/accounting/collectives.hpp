// Where each collective's time went on each rank, from issue to completion.
//
// Steps back from the completion count by kind if of the same collective, on any rank; others on
// its queue or link count as queued. All before its issue on another rank was waiting for that
// peer.
#pragma once

#include "base/vector.hpp"
#include "record/recording.hpp"
#include "model/model.hpp"
#include "run/outcome.hpp"

namespace yantra {

// In ticks, a row for each collective that ended, by place; the last six add up to its time.
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
