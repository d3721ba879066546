// What each rank of a synthesised collective does: steps of thread blocks, one for each connection
// and way.
//
// Data is in one buffer of blocks. A step waits for its predecessor in the thread block and the
// last step that wrote what it touches; a write also for reads since. A step has one such
// dependency, and a nop before it for each further one.
//
// Source: thread blocks and dependencies of MSCCL programs (docs/reference/msccl.md).
#pragma once

#include <span>

#include "base/types.hpp"
#include "base/vector.hpp"

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

// A thread block: its steps from `begin` to the next one's, and its peers.
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

// `moves` in an order in which they may happen one by one. Precondition: ranks and blocks exist,
// nobody sends to itself.
Steps steps_of(u32 ranks, u32 blocks, std::span<const Move> moves);

}  // namespace yantra::synthesis
