// Lines: messages between two places one by one, as on one connection: those of each collective, or all.
//
// If they shared links, a late rank would send its backlog at once, each message at a fraction of
// the rate, with successors waiting for all: a ring late once would stay late by a multiple. Also,
// parallel chunks would wait out each latency together; in order, one sends while another waits.
#pragma once

#include "base/never.hpp"
#include "base/number_map.hpp"
#include "network/flow/level/common.hpp"

namespace yantra::inline YANTRA_RUN::flow {

class Lines {
public:
    explicit Lines(Common& all) : all_(all) {}

    // If not, the part has the line until it arrives.
    bool waits(PartId part);
    void has_its_own(PartId part);
    // The part that has its line now, or none.
    PartId pass_on(PartId part);

private:
    struct Line {
        u64 came = never;          // tick, the last of them
        u64 order = 0;             // and of it
        PartId first;              // parts that wait
        PartId last;
    };

    Common& all_;
    NumberMap<Line> lines_;
};

}  // namespace yantra::inline YANTRA_RUN::flow
