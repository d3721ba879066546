// Outcome: a run's results, in ticks, as plain columns.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/cut_sizes.hpp"
#include "base/never.hpp"
#include "base/types.hpp"
#include "execution/happening.hpp"
#include "network/network.hpp"

namespace yantra {

struct Waiting {
    u32 rank = none;
    u32 node = none;
    bool for_message = false;    // else for a collective
    bool is_cause = false;       // what it waits for will never come
    u64 since = 0;
    u64 other_bytes = never;     // size of what the other rank has in its place
    u64 bytes = 0;
    bool sends = false;          // the node is the sender
    bool peer_finished = false;
    u32 peer = none;
    u32 tag = 0;
    u32 other_tag = none;        // tag under which the peer has a message of this size
    u32 peer_node = none;        // node of the peer that would match, and has not started
    u32 kind = none;             // CollectiveKind
    u64 collective_bytes = 0;
    u32 communicator = none;
    std::vector<u32> missing;    // members that did not enter it; of a cause, that never will;
    u64 missing_count = 0;       // the first ten of these
    u32 other_rank = none;       // a member that entered another one in its place
    u32 other_node = none;
    u32 other_kind = none;
    u32 inner_chunk = none;
    u64 inner_node = 0;
    std::string inner_name;
};

struct Mismatch {
    u32 rank = none;
    u32 node = none;
    u32 other_rank = none;
    u32 other_node = none;
};

struct Unreceived {
    u32 src = none;
    u32 dst = none;
    u32 tag = 0;
    u64 bytes = 0;
};

struct Outcome {
    std::vector<u64> finish;         // by rank; `never` if it did not finish
    std::vector<u32> finish_order;   // ranks in the order of their events; of a folded run, none
    std::vector<Happening> happenings;   // of a run that was to note them
    bool finished = false;           // all ranks did
    bool folded = false;             // the nodes of all ranks of a class are those of one
    std::vector<u32> class_of;       // by rank; of a folded run
    std::vector<u64> compute_busy;  // by rank: sum over replayed and rooflined nodes not on the CPU
    std::vector<u64> first_node;     // by rank, into start and end; one more at the end
    std::vector<u64> start;
    std::vector<u64> end;
    // Of a posted message that waited or a collective; else `never`, as beyond its end.
    std::vector<u64> begun;
    std::function<void(Outcome&)> note_entries;   // adds those of collectives to `begun`; null if they are included
    std::vector<LinkUse> dimensions;
    std::vector<LinkRecord> links;
    std::function<std::vector<LinkRecord>()> links_on_demand;   // of a folded run
    std::vector<u64> busiest;        // by dimension: ticks of its busiest link
    Disturbance disturbance;
    std::shared_ptr<const packet::Seen> packets;   // of a network that has any; else null
    std::vector<Waiting>
        waiting;  // of unfinished ranks: causes first, then oldest first; ten at most
    std::vector<Unreceived> unreceived;
    u64 under_way = 0;           // messages given to the network that did not arrive
    CutSizes cut;               // messages carried with only the low 32 bits of their size
    u64 events = 0;
    u64 messages = 0;
    u64 last_tick = 0;
    ThreadsTaken threads;
};

}  // namespace yantra
