// Model: everything a run reads; made by ModelBuilder, then immutable, so runs may share it.
#pragma once

#include <optional>
#include <vector>

#include "collective/parameters.hpp"
#include "engine/semantics.hpp"
#include "memory/remote.hpp"
#include "network/parameters.hpp"
#include "workload/workload.hpp"

namespace yantra {

struct Model {
    Semantics semantics;
    NetworkParameters network;
    CollectiveParameters collectives;
    RemoteMemory memory;
    Workload work;

    u32 ranks() const { return network.ranks(); }
};

struct RankProblems {
    u32 rank = none;
    std::vector<Problem> problems;
};

std::optional<RankProblems> check_ranks(const Model& model);

}  // namespace yantra
