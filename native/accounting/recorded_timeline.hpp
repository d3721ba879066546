// A recorded graph's time by dependencies alone, and with few slots per rank. Communication and
// memory take their recorded time and no slot.
#pragma once

#include <vector>

#include "base/types.hpp"
#include "trace/graph.hpp"

namespace yantra {

// How many nodes of a kind a rank runs at once; 0: any number.
struct SlotCounts {
    u32 cpu = 0, compute = 0;
};

struct Overlap {
    u64 us = 0;    // during which two or more of them run
    u32 most = 0;  // at once
};

struct RecordedTimeline {
    u64 length_us = 0;    // each node starts when what it waits for has ended
    u64 in_slots_us = 0;  // and a slot is free
    u64 delay_us = 0;     // of `length_us`: delays on the longest path
    Overlap cpu, compute;
};

// In whole microseconds. Nodes on or behind cycles are left out.
// By node, in us: the recording, if its nodes have their times.
std::vector<u64> recorded_ends(const Graph& graph);

RecordedTimeline recorded_timeline(const Graph& graph, const SlotCounts& slots);

}  // namespace yantra
