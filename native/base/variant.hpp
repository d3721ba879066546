// A run is compiled twice: plain, and recorded with the cause of every event.
//
// Components record through probes, which in a plain run are empty types and cost no instruction.
// Types that differ are in an inline namespace. Trade-off: the folders that are compiled twice
// (CMakeLists.txt) take twice as long to build.
#pragma once

#ifdef YANTRA_RECORDED
#define YANTRA_RUN recorded
#else
#define YANTRA_RUN plain
#endif

// Opens the inline namespace, so that others can name it.
namespace yantra::inline YANTRA_RUN {}
