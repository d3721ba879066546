// What a run that cannot finish waits for: the oldest waiting node of each unfinished rank.
//
// Ends of chains of waiting (a finished peer, different sizes or tags, different collectives) come
// first, as they are the cause.
#pragma once

#include "base/vector.hpp"
#include "collective/runtime/collectives.hpp"
#include "execution/executor.hpp"
#include "run/outcome.hpp"
#include "transport/transport.hpp"

namespace yantra::inline YANTRA_RUN {

// Precondition: every actor is a rank. Called once, so compiled for size.
[[gnu::cold]] Vector<Waiting> diagnose(const Model& model, const Grid& grid, const Executor& executor,
                                            const Transport& transport, const Collectives& collectives);

[[gnu::cold]] Vector<Unreceived> unreceived(const Transport& transport);

}  // namespace yantra
