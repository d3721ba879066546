// PhaseInput: a phase of a chunk, as seen by the actor that runs it.
#pragma once

#include "base/ids.hpp"
#include "collective/plan.hpp"

namespace yantra {

struct PhaseInput {
    ActorId actor;
    const Program& program;
    u64 data;
    Place place;
    bool clockwise;
    bool fixed_hand_over;
    u32 plan;
    u32 level;
    u32 communicator;   // none where the plan is not over its members
    u32 table;          // of peers; none: messages are matched
    u32 member;         // of the table
    u32 phase;          // within the chunk
    u32 tag;            // of matched messages
    u64 number;         // of the chunk, unique
    u32 node;           // of the collective's node among those of all actors
};

}  // namespace yantra
