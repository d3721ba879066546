// Launches: the host thread's work before the device may start, as nodes, in id order. Trade-off:
// one more node per launch. Source: CUDA C++ Programming Guide, "Asynchronous Concurrent Execution"
// and "CUDA Graphs".
#pragma once

#include <cstdint>

#include "trace/trace.hpp"

namespace yantra {

struct Launches {
    // A kernel; a pass of a chunk and micro-batch, as a CUDA graph; or all.
    enum class Of : std::uint8_t { kernel, pass, job };

    std::uint64_t ns = 0;
    Of of = Of::kernel;
};

// Throws std::invalid_argument.
Trace with_launches(const Trace& trace, const Launches& launches);

}  // namespace yantra
