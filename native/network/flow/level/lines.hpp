// Lines: messages between two places one by one, as on one connection: those of each collective, or
// all. If they shared links, a ring late once would stay late by a multiple.
#pragma once

#include "base/never.hpp"
#include "base/number_map.hpp"
#include "network/flow/level/common.hpp"

namespace yantra::inline YANTRA_RUN::flow {

class Lines {
public:
    explicit Lines(Common& all) : all_(all) {}

    bool waits(PartId part);
    void has_its_own(PartId part);
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
