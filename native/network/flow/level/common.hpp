// What all parts of the flow network share.
#pragma once

#include <memory>
#include <utility>

#include "base/variant.hpp"
#include "network/flow/level/carried.hpp"
#include "network/flow/level/clock.hpp"
#include "network/flow/level/sending.hpp"
#include "network/ways_probe.hpp"

namespace yantra::inline YANTRA_RUN::flow {

struct Common {
    Common(const NetworkSetup& setup, std::unique_ptr<Ways> ways, const Options& options);

    void settle_later() {
        if (!std::exchange(is_settling, true)) {
            clock.schedule(clock.now(), Kind::settles, 0);
        }
    }
    double flows_now_ns() const { return std::max(clock.now_ns(), sharing.now_ns()); }
    void note_carried(const Part& part, u64 bytes, u64 until);

    const u32 most_parts;             // of a message, for routings by packet
    const std::unique_ptr<Ways> ways;
    const bool is_over_classes;       // links stand for classes
    Clock clock;
    FlowSharing sharing;
    WaysProbe probe;
    Sending sending;
    Routes routes;
    Carried carried;
    IdPool<TransitId, Transit> transits;
    IdPool<PartId, Part, Freed::readable> parts;   // whether they are over
    u64 under_way = 0;                // messages
    bool is_settling = false;
};

}  // namespace yantra::inline YANTRA_RUN::flow
