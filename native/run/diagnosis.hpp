// What a run that cannot finish waits for: for every unfinished rank, its oldest waiting node.
//
// A rank may wait for one that waits itself. Those at the end of such a chain (a peer that finished,
// sizes or tags that differ, members that entered different collectives) come first, as they are the
// cause.
#pragma once

#include "base/vector.hpp"
#include "collective/runtime/collectives.hpp"
#include "execution/executor.hpp"
#include "run/outcome.hpp"
#include "transport/transport.hpp"

namespace yantra::inline YANTRA_RUN {

// Precondition: every actor is a rank. Called once, so it is compiled for size, which is sooner done.
[[gnu::cold]] Vector<Waiting> diagnose(const Model& model, const Grid& grid, const Executor& executor,
                                            const Transport& transport, const Collectives& collectives);

// Messages that were sent and that nobody received.
[[gnu::cold]] Vector<Unreceived> unreceived(const Transport& transport);

}  // namespace yantra
