// Which collectives occur in graphs: the groups that name them, and of what kind.
#pragma once

#include <memory>
#include <string>

#include "base/types.hpp"
#include "base/vector.hpp"
#include "trace/graph.hpp"

namespace yantra {

// A group that collectives name, "" for all ranks, and a comm_type of theirs.
struct UsedCollective {
    std::string group;
    u64 comm_type = 0;
};

// Those of all graphs, each once, by group and comm_type.
Vector<UsedCollective> used_collectives(const Vector<std::shared_ptr<const Graph>>& graphs);

}  // namespace yantra
