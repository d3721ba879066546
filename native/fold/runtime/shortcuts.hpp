// Shortcuts: what saves a folded run events (fold/shortcuts).
#pragma once

#include <vector>

#include "base/ids.hpp"
#include "base/never.hpp"
#include "collective/exchange/phase_times.hpp"
#include "fold/runtime/order_guard.hpp"
#include "network/network.hpp"
#include "run/simulation.hpp"

namespace yantra::inline YANTRA_RUN {

class Shortcuts {
public:
    struct NextLook {
        ActorId actor{0};
        u64 nodes = never;
    };

    virtual ~Shortcuts() = default;

    virtual NextLook watch(Simulation& run, OrderGuard& guard) = 0;
    virtual PhaseTimes& times() = 0;
    // Called between ticks only; may move the run on.
    virtual NextLook look() = 0;
    virtual void add_to(u64& messages, std::vector<LinkUse>& dimensions) const = 0;
    virtual u64 nodes_skipped() const = 0;
};

}  // namespace yantra
