// A recorded graph's time by dependencies alone, and with few slots per rank; the difference is the
// cost of serialising threads and streams.
//
// Communication and memory take their recorded time, which includes link sharing, and no slot.
#pragma once

#include "base/types.hpp"
#include "trace/graph.hpp"

namespace yantra {

// How many nodes of a kind a rank runs at once; 0: any number.
struct SlotCounts {
    u32 cpu = 0, compute = 0;
};

// Of nodes of one kind, held back by dependencies alone.
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

// In whole microseconds. Nodes on or behind cycles are left out.
RecordedTimeline recorded_timeline(const Graph& graph, const SlotCounts& slots);

}  // namespace yantra
