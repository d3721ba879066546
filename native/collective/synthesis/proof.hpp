// Proves that steps perform their collective, by playing them on sets: which ranks' data is summed in each block.
//
// Proven are the laws that `yantra msccl prove` has: every message has a sender and a receiver who agree on its
// length; no step waits for ever; nothing is read that nobody wrote and nothing added twice; steps that touch a
// block of a rank, one of them to write it, are ordered by what waits inside that rank; and every rank ends with
// what the collective promises. Then any other order of the steps leaves the same data.
//
// Trade-off: order inside a rank is more than is needed, for a message could order two steps as well. What
// `steps_of` makes has it; other programs may be right and still be refused here. A set takes a bit for each rank.
#pragma once

#include "base/types.hpp"
#include "collective/synthesis/steps.hpp"

namespace yantra::synthesis {

enum class Promise : u8 { all_gather, reduce_scatter, all_reduce };

struct Proof {
    const char* wrong = nullptr;  // what is not proven, or nullptr
    u32 at = none;                // the step where it is not, if it is one
    u64 messages = 0;
    u64 connections = 0;
    u64 depth = 0;  // steps on the longest chain of which each waits for the one before
};

// Blocks belong to ranks in order, equally many to each.
Proof prove(const Steps& steps, Promise promise);

}  // namespace yantra::synthesis
