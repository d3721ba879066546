// The orders of ASTRA-sim's memory trace, which are those of the C++ library it is built with.
//
// It goes through hash maps of names, and sorts lifetimes by a sort that does not keep the order of equal ones. So does
// this, with the library that Yantra is built with: the orders are the same with libstdc++, on which ASTRA-sim runs.
#pragma once

#include <string>

#include "base/types.hpp"
#include "base/vector.hpp"

namespace yantra {

// The places of different names in the order of a hash map into which they went one after the other.
Vector<u32> hash_map_order(const Vector<std::string>& names);

// The places of lifetimes, the longest first.
Vector<u32> longest_first(const Vector<u64>& lifetimes);

}  // namespace yantra
