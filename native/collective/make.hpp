// Builds programs from an algorithm: equal steps as runs, or operations with dependencies.
#pragma once

#include "base/vector.hpp"
#include "collective/program.hpp"

namespace yantra {

// With earlier ones of its position that it waits for.
struct Operation {
    GraphOp::Kind kind = GraphOp::local;
    u32 peer = none;
    Share bytes;
    Share reduce{0, 1};
    Vector<u32> dependencies;
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

ExchangeProgram make_exchange(Vector<Run> runs, u64 window, u64 sends, const Barrier& barrier);

// Operations of each position, or only of position 0 with a symmetry. The last positions may be
// `switches`, given as their hosts' positions.
GraphProgram make_graph(const Vector<Vector<Operation>>& positions, Symmetry symmetry,
                        Vector<u32> switches = {}, Vector<u32> hosts = {});

}  // namespace yantra
