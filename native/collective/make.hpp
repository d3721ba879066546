// Builds programs: equal steps as runs, or operations with dependencies.
#pragma once

#include <vector>

#include "collective/program.hpp"

namespace yantra {

struct Operation {
    GraphOp::Kind kind = GraphOp::local;
    u32 peer = none;
    Share bytes;
    Share reduce{0, 1};
    std::vector<u32> dependencies;
    bool from_memory = false;
    bool back = false;
    bool back_if_last = false;
};

// See ExchangeProgram.
struct Barrier {
    u64 at = 0;
    u64 receipts = 0;
    bool counts_hand_overs = false;
};

ExchangeProgram make_exchange(std::vector<Run> runs, u64 window, u64 sends, const Barrier& barrier);

// Of each position, or only of position 0 with a symmetry. The last positions may be `switches`.
GraphProgram make_graph(const std::vector<std::vector<Operation>>& positions, Symmetry symmetry,
                        std::vector<u32> switches = {}, std::vector<u32> hosts = {});

}  // namespace yantra
