// What each rank of a synthesised collective does: steps of thread blocks, in one buffer of blocks
// (docs/reference/msccl.md). A step waits for its predecessor and whoever touched its data last, by
// one dependency; nops add more.
#pragma once

#include <span>
#include <vector>

#include "base/types.hpp"

namespace yantra::synthesis {

struct Move {
    u32 from;
    u32 to;
    u32 first;  // of `count` blocks
    u32 count;
    bool adds;
};

enum class StepKind : u8 { send, receive, add, nop };  // add: receive and add to what is there

struct Step {
    StepKind kind;
    u32 lane;
    u32 first;
    u32 count;
    u32 needs;  // the number of another step of the rank, or none
};

struct Lane {
    u32 rank;
    u32 peer;
    bool sends;
    u32 begin;
};

struct Steps {
    u32 ranks;
    u32 blocks;
    std::vector<Lane> lanes;  // by rank; of one rank in the order of their first steps
    std::vector<Step> steps;  // by lane
};

// Precondition: ranks and blocks exist, nobody sends to itself.
Steps steps_of(u32 ranks, u32 blocks, std::span<const Move> moves);

}  // namespace yantra::synthesis
