// A run is compiled twice: plain, and recorded with the cause of every event.
//
// What a recorded run adds stands behind `recorded_run`, in `if constexpr` or in members that are empty
// types of a plain run, so a plain run costs not one instruction more. The types that differ lie in an
// inline namespace of their own; CMakeLists.txt says which files are compiled twice. Trade-off: the
// engine's part of a build takes twice as long.
#pragma once

#ifdef YANTRA_RECORDED
#define YANTRA_RUN recorded
#else
#define YANTRA_RUN plain
#endif

namespace yantra::inline YANTRA_RUN {

#ifdef YANTRA_RECORDED
inline constexpr bool recorded_run = true;
#else
inline constexpr bool recorded_run = false;
#endif

}  // namespace yantra
