// The orders of ASTRA-sim's memory trace, which depend on its C++ library: it walks hash maps of
// names and sorts lifetimes unstably. This does the same, so orders agree with libstdc++.
#pragma once

#include <string>

#include "base/types.hpp"
#include "base/vector.hpp"

namespace yantra {

// Places of distinct names in a hash map filled in this order.
Vector<u32> hash_map_order(const Vector<std::string>& names);

// The longest first.
Vector<u32> longest_first(const Vector<u64>& lifetimes);

}  // namespace yantra
