// How many processors this process may run on, or the fewer that runs beside each other share.
#pragma once

#include <algorithm>
#include <atomic>
#include <thread>

#if defined(__linux__)
#include <sched.h>
#endif

#include "base/types.hpp"

namespace yantra {

inline std::atomic<u32> most_cores{0};   // of a run; 0: all

inline u32 cores() {
    if (const u32 most = most_cores.load(); most > 0) {
        return most;
    }
#if defined(__linux__)
    cpu_set_t set;
    if (sched_getaffinity(0, sizeof(set), &set) == 0) {
        return static_cast<u32>(CPU_COUNT(&set));
    }
#endif
    return std::max(1U, std::thread::hardware_concurrency());
}

}  // namespace yantra
