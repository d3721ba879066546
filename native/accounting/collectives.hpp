// Where the time of each collective went on each rank, from its issue to its completion there.
//
// Of the steps back from the completion, those of the same collective on whatever rank count by their
// kind. What else held a queue or a link before it counts as queued. Once the walk reaches the issue of
// the collective on another rank, all before it was waiting for that peer.
#pragma once

#include "base/vector.hpp"
#include "record/recording.hpp"
#include "model/model.hpp"
#include "run/outcome.hpp"

namespace yantra {

// Columns in ticks, a row for each collective that ended, by place; the last six add up to its time.
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
