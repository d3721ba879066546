// What each rank of a synthesised collective does, in order: steps of thread blocks, one for each connection and way.
//
// All data is in one buffer, block by block. A step waits for the one before it in its thread block, and for
// the last step that wrote what it touches; one that writes also for those that read it since. A step waits for one
// other itself, and a nop before it for each further one. So a message is sent as soon as its data is there.
//
// Source: the thread blocks and dependencies of MSCCL programs (docs/reference/msccl.md).
#pragma once

#include <span>

#include "base/types.hpp"
#include "base/vector.hpp"

namespace yantra::synthesis {

// Blocks that go from one rank to another, which adds them to its own or keeps them.
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

// A thread block: the steps from `begin` on, to the begin of the next one, and whom they send to or receive from.
struct Lane {
    u32 rank;
    u32 peer;
    bool sends;
    u32 begin;
};

struct Steps {
    u32 ranks;
    u32 blocks;
    Vector<Lane> lanes;  // by rank; of one rank in the order of their first steps
    Vector<Step> steps;  // by lane
};

// In the order in which moves may happen one by one. Precondition: ranks and blocks exist, nobody sends to itself.
Steps steps_of(u32 ranks, u32 blocks, std::span<const Move> moves);

}  // namespace yantra::synthesis
