// Planes: whole numbers as bytes that deflate well, for tables in result files.
//
// Of each number the difference to the one before is kept, the sign moved to the lowest bit; then come all
// lowest bytes, all second bytes and so on, eight planes in all. Numbers that change slowly so become
// planes of equal bytes.
// Trade-off: planes that are all zero are written too, so the bytes alone say how many numbers they hold.
// Source: the shuffle filter of HDF5 and Blosc; the zigzag of Protocol Buffers.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "base/types.hpp"

namespace yantra {

// Returns the planes of some numbers.
std::string to_planes(std::span<const u64> numbers);

// Returns the numbers of planes, eight bytes each as the machine keeps them; a whole number of eight bytes.
std::string from_planes(std::string_view planes);

}  // namespace yantra
