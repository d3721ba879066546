// Launches: the host thread's work before the device may start, as nodes of the trace.
//
// One thread launches kernels, collectives, messages and copies in id order, never waiting for the
// device. A launch is a host node that waits for the previous one, and its work waits for it, so
// the core needs no mechanism. Trade-off: one more node per launch. Source: CUDA C++ Programming
// Guide, "Asynchronous Concurrent Execution" and "CUDA Graphs".
#pragma once

#include <cstdint>

#include "trace/trace.hpp"

namespace yantra {

struct Launches {
    // Per launch: a kernel; a pass of a chunk and micro-batch, as a CUDA graph; or all.
    enum class Of : std::uint8_t { kernel, pass, job };

    std::uint64_t ns = 0;
    Of of = Of::kernel;
};

// Throws std::invalid_argument for a trace with host operations, or a node without its pass.
Trace with_launches(const Trace& trace, const Launches& launches);

}  // namespace yantra
