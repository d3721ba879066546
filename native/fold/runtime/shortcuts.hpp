// Shortcuts: what spares a folded run events (fold/shortcuts). A recorded run has none: it needs the
// cause of every event.
#pragma once

#include "base/ids.hpp"
#include "base/never.hpp"
#include "base/vector.hpp"
#include "collective/runtime/phase_times.hpp"
#include "fold/runtime/order_guard.hpp"
#include "network/network.hpp"
#include "run/simulation.hpp"

namespace yantra::inline YANTRA_RUN {

class Shortcuts {
public:
    // When to look: once this actor has ended so many nodes.
    struct NextLook {
        ActorId actor{0};
        u64 nodes = never;
    };

    virtual ~Shortcuts() = default;

    // Called once, before the run starts; returns when to look first.
    virtual NextLook watch(Simulation& run, OrderGuard& guard) = 0;
    // Who knows how long a phase takes without playing its messages.
    virtual PhaseTimes& times() = 0;
    // Between two ticks alone: may move the run on.
    virtual NextLook look() = 0;
    // Adds the messages that were not played.
    virtual void add_to(u64& messages, Vector<LinkUse>& dimensions) const = 0;
    // Nodes whose times were written down without events.
    virtual u64 nodes_skipped() const = 0;
};

}  // namespace yantra
