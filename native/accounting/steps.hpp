// Steps: what something waited for, back along the last cause at each join, so they add up exactly.
#pragma once

#include <vector>

#include "record/recording.hpp"
#include "model/model.hpp"
#include "run/outcome.hpp"

namespace yantra {

enum class StepKind : u8 {
    compute, memory, host, latency, wire, queued, hand_over, reduction, waiting, other,
    unexplained_device, unexplained_host, begin, communication
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
std::vector<Step> critical_path(const Model& model, const Outcome& outcome,
                                const Recording& recording);

// Back to its start; empty if it did not end.
std::vector<Step> waited_for(const Model& model, const Outcome& outcome, const Recording& recording,
                             u32 rank, u32 node);

StepKind kind_of(Why why);

bool is_of_message(Why why);

u32 place_of(const Outcome& outcome, u32 rank, u32 node);

}  // namespace yantra
