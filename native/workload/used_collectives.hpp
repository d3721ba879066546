// The groups and kinds of collectives in graphs.
#pragma once

#include <memory>
#include <string>

#include "base/types.hpp"
#include "base/vector.hpp"
#include "trace/graph.hpp"

namespace yantra {

// The group ("" for all ranks) and comm_type.
struct UsedCollective {
    std::string group;
    u64 comm_type = 0;
};

// Each once, by group and comm_type.
Vector<UsedCollective> used_collectives(const Vector<std::shared_ptr<const Graph>>& graphs);

}  // namespace yantra
