// The orders of ASTRA-sim's memory trace, which depend on its C++ library: those of libstdc++.
#pragma once

#include <string>
#include <vector>

#include "base/types.hpp"

namespace yantra {

std::vector<u32> hash_map_order(const std::vector<std::string>& names);

std::vector<u32> longest_first(const std::vector<u64>& lifetimes);

}  // namespace yantra
