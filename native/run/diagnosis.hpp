// What a run that cannot finish waits for: the oldest waiting node of each unfinished rank; ends of
// chains of waiting come first.
#pragma once

#include <vector>

#include "collective/runtime/collectives.hpp"
#include "execution/executor.hpp"
#include "run/outcome.hpp"
#include "transport/transport.hpp"

namespace yantra::inline YANTRA_RUN {

// Precondition: every actor is a rank.
[[gnu::cold]] std::vector<Waiting> diagnose(const Model& model, const Grid& grid, const Executor& executor,
                                            const Transport& transport, const Collectives& collectives);

[[gnu::cold]] std::vector<Unreceived> unreceived(const Transport& transport);

}  // namespace yantra
