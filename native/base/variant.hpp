// A run is compiled twice: plain, and recorded with the cause of every event.
//
// The recording is in the components' probes. In a plain run a probe is an empty type with empty
// functions and costs no instruction. Types that differ are in an inline namespace; CMakeLists.txt
// lists the folders that are compiled twice. Trade-off: these take twice as long to build.
#pragma once

#ifdef YANTRA_RECORDED
#define YANTRA_RUN recorded
#else
#define YANTRA_RUN plain
#endif

// Opens the inline namespace, so that others can name it.
namespace yantra::inline YANTRA_RUN {}
