// PacketClock: ticks of the packets' simulator for the engine's, and back.
#pragma once

#include "base/types.hpp"

namespace yantra {

struct PacketClock {
    u64 packets_per_ns;
    u64 engine_per_ns;

    bool are_as_one() const { return packets_per_ns == engine_per_ns; }
    u64 of_engine(u64 packets) const {
        return (packets * engine_per_ns + packets_per_ns - 1) / packets_per_ns;
    }
    // The last that is not after; the first that is not before.
    u64 of_packets(u64 engine) const { return engine * packets_per_ns / engine_per_ns; }
    u64 next_of_packets(u64 engine) const {
        return (engine * packets_per_ns + engine_per_ns - 1) / engine_per_ns;
    }
};

}  // namespace yantra
