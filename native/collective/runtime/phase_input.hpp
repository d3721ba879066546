// PhaseInput: a phase of a chunk, as the actor that runs it sees it.
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
    u32 phase;          // number among those of the chunk
    u32 tag;            // of messages that are matched
    u64 number;         // of the chunk, unlike that of any other
    u32 node;           // place of the collective's node among those of all actors
};

}  // namespace yantra
