// What a recorded graph takes by its recorded durations alone: as its dependencies have it, and where a
// rank has few slots. The difference is what serialising its threads and streams costs.
//
// Of the ready nodes the one of the lowest number goes first, as in a run. Communication and memory take
// their recorded time and no slot: a run computes their time, and recordings of what overlapped hold the
// time for which they shared a link.
#pragma once

#include "base/types.hpp"
#include "trace/graph.hpp"

namespace yantra {

// How many nodes of a kind a rank runs at once; 0: any number.
struct SlotCounts {
    u32 cpu = 0, compute = 0;
};

// How nodes of one kind meet where only dependencies hold them back.
struct Overlap {
    u64 us = 0;    // during which two or more of them run
    u32 most = 0;  // at once
};

struct RecordedTimeline {
    u64 length_us = 0;    // each node starts when what it waits for has ended
    u64 in_slots_us = 0;  // and a slot is free
    u64 delay_us = 0;     // of `length_us`: nodes called `delay` on the longest path
    Overlap cpu, compute;
};

// Durations are whole microseconds. Nodes on a cycle, and what waits for them, do not count.
RecordedTimeline recorded_timeline(const Graph& graph, const SlotCounts& slots);

}  // namespace yantra
