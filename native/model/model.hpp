// Model: everything a run reads and never writes. Any number of runs may share one.
//
// A ModelBuilder makes it; from then on it is const, and whoever holds it sees the same numbers for ever.
#pragma once

#include <optional>

#include "base/vector.hpp"
#include "collective/parameters.hpp"
#include "engine/semantics.hpp"
#include "memory/remote.hpp"
#include "network/parameters.hpp"
#include "workload/workload.hpp"

namespace yantra {

// Each component of a run takes its own part.
struct Model {
    Semantics semantics;
    NetworkParameters network;
    CollectiveParameters collectives;
    RemoteMemory memory;
    Workload work;

    u32 ranks() const { return network.ranks(); }
};

// A rank that cannot run its job, a peer or a group being wrong for it, and why.
struct RankProblems {
    u32 rank = none;
    Vector<Problem> problems;
};

// The first such rank.
std::optional<RankProblems> check_ranks(const Model& model);

}  // namespace yantra
