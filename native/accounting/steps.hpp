// Steps: what something waited for, back along the causes.
//
// At a join the walk takes the last cause, so steps have no gaps and add up exactly.
#pragma once

#include "base/vector.hpp"
#include "record/recording.hpp"
#include "model/model.hpp"
#include "run/outcome.hpp"

namespace yantra {

enum class StepKind : u8 {
    compute, memory, host, latency, wire, queued, hand_over, reduction, waiting, other
};

struct Step {
    u64 start;
    u64 end;
    u32 rank;        // none at the start of the run, as those below
    u32 node;        // its place in the rank's trace
    u32 peer;
    u32 dimension;
    StepKind kind;
};

// Back from the last finish; equal adjacent steps are merged.
Vector<Step> critical_path(const Model& model, const Outcome& outcome, const Recording& recording);

// Back to its start; empty if it did not end.
Vector<Step> waited_for(const Model& model, const Outcome& outcome, const Recording& recording,
                             u32 rank, u32 node);

StepKind kind_of(Why why);

bool is_of_message(Why why);

// The node's place among the nodes of all ranks that ran.
u32 place_of(const Outcome& outcome, u32 rank, u32 node);

}  // namespace yantra
