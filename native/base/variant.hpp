// A run is compiled twice: plain, and recorded with the cause of every event. Probes cost nothing
// in a plain run; types that differ are in an inline namespace. Trade-off: these folders take twice
// as long to build.
#pragma once

#ifdef YANTRA_RECORDED
#define YANTRA_RUN recorded
#else
#define YANTRA_RUN plain
#endif

// Opens the inline namespace, so that others can name it.
namespace yantra::inline YANTRA_RUN {}
