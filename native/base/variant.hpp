// A run is compiled twice: plain, and recorded with the cause of every event.
//
// What a recorded run notes stands in the probes of the components. In a plain run a probe is an empty
// type with empty functions, so a plain run costs not one instruction more. The types that differ lie
// in an inline namespace of their own; CMakeLists.txt says which folders are compiled twice. Trade-off:
// these parts of a build take twice as long.
#pragma once

#ifdef YANTRA_RECORDED
#define YANTRA_RUN recorded
#else
#define YANTRA_RUN plain
#endif

// Opens the inline namespace, so that others can name it.
namespace yantra::inline YANTRA_RUN {}
