// The orders of ASTRA-sim's memory trace: it walks hash maps of names and sorts lifetimes unstably,
// so they depend on its C++ library. These agree with libstdc++.
#pragma once

#include <string>

#include "base/types.hpp"
#include "base/vector.hpp"

namespace yantra {

// Places of distinct names in a hash map filled in this order.
Vector<u32> hash_map_order(const Vector<std::string>& names);

Vector<u32> longest_first(const Vector<u64>& lifetimes);

}  // namespace yantra
