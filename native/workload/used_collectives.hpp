// The groups and kinds of collectives in graphs.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/types.hpp"
#include "trace/graph.hpp"

namespace yantra {

struct UsedCollective {
    std::string group;
    u64 comm_type = 0;
};

// Each once, by group and comm_type.
std::vector<UsedCollective> used_collectives(
    const std::vector<std::shared_ptr<const Graph>>& graphs);

}  // namespace yantra
