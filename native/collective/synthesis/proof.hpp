// Proves that steps perform their collective by playing them on sets: which ranks' data is summed
// in each block.
//
// The laws of `yantra msccl prove`: every message has a sender and a receiver who agree on its
// length; no step waits for ever; nothing is read unwritten or added twice; conflicting steps of a
// rank are ordered by its own dependencies; every rank ends with what the collective promises. Then
// the order of steps does not matter.
//
// Trade-off: messages could order steps too, so correct programs other than those of `steps_of` may
// be refused. A set takes a bit for each rank.
#pragma once

#include "base/types.hpp"
#include "collective/synthesis/steps.hpp"

namespace yantra::synthesis {

enum class Promise : u8 { all_gather, reduce_scatter, all_reduce };

struct Proof {
    const char* wrong = nullptr;  // what is not proven, or nullptr
    u32 at = none;                // the step at fault, if any
    u64 messages = 0;
    u64 connections = 0;
    u64 depth = 0;  // steps on the longest chain of dependencies
};

// Blocks belong to ranks in order, equally many to each.
Proof prove(const Steps& steps, Promise promise);

}  // namespace yantra::synthesis
