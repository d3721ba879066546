// Proves that steps perform their collective by playing them on sets of ranks: the laws of `yantra
// msccl prove`. Trade-off: messages could order steps too, so some correct programs are refused.
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

Proof prove(const Steps& steps, Promise promise);

}  // namespace yantra::synthesis
