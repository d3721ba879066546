// Launches: what the host thread of a rank does before its device may work, as nodes of the trace.
//
// One thread launches what the device does (kernels, collectives, messages, copies), in the order of ids,
// and never waits for the device. Each launch is a node of the host that waits for the launch before it,
// and what it launches waits for it. So a run, its timeline and what-if runs see launches as host work, and
// the core needs no mechanism for them. Trade-off: a launch is a node more to run.
// Source: CUDA C++ Programming Guide, "Asynchronous Concurrent Execution" and "CUDA Graphs".
#pragma once

#include <cstdint>

#include "trace/trace.hpp"

namespace yantra {

struct Launches {
    // What is launched at once: a kernel; or as a CUDA graph what one pass of a chunk and micro-batch
    // does; or all of it.
    enum class Of : std::uint8_t { kernel, pass, job };

    std::uint64_t ns = 0;
    Of of = Of::kernel;
};

// The trace with launches behind its records. Throws std::invalid_argument for a trace with host
// operations of its own, and where a node does not say which pass it is of.
Trace with_launches(const Trace& trace, const Launches& launches);

}  // namespace yantra
