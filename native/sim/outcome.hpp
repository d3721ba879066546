// Outcome: what a run leaves behind, in ticks and as plain columns.
#pragma once

#include <vector>

#include "base/types.hpp"
#include "network/network.hpp"

namespace yantra {

inline constexpr u64 never = ~u64{0};

// What the oldest waiting node of an unfinished rank waits for.
struct Waiting {
    enum Reason : u8 { nothing, message, collective, memory };
    u32 rank = none;
    u32 node = none;             // none: nothing of the rank was ever started
    Reason reason = nothing;
    bool sends = false;          // a message: the node is the sender
    u64 since = 0;
    u32 peer = none;             // a message: the other rank
    u32 tag = 0;
    u64 bytes = 0;
    u64 other_bytes = never;     // size under which the peer has the same tag waiting
    u32 other_tag = none;        // tag under which the peer has the same size waiting
    std::vector<u32> missing;    // a collective: members that never started it
};

// Two ranks whose collectives of one communicator differ where they should be the same.
struct Mismatch {
    u32 rank = none;
    u32 node = none;
    u32 other_rank = none;
    u32 other_node = none;
};

struct Outcome {
    std::vector<u64> finish;         // by rank; `never` if it did not finish
    std::vector<u32> finish_order;   // ranks in the order of their events
    std::vector<u64> compute_busy;   // by rank: sum over replayed and rooflined nodes not on the CPU
    std::vector<u64> first_node;     // by rank, into start and end; one more at the end
    std::vector<u64> start;
    std::vector<u64> end;
    std::vector<LinkUse> dimensions;
    std::vector<NetworkModel::LinkRecord> links;
    std::vector<Waiting> waiting;    // oldest first, one for each unfinished rank
    u64 events = 0;
    u64 messages = 0;
    u64 last_tick = 0;
};

}  // namespace yantra
