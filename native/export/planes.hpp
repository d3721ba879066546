// Planes: whole numbers as bytes that deflate well: differences, with the sign in the lowest bit,
// in eight planes. Source: the shuffle filter of HDF5 and Blosc; the zigzag of Protocol Buffers.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "base/types.hpp"

namespace yantra {

std::string to_planes(std::span<const u64> numbers);

// Precondition: `planes` is a multiple of eight bytes.
std::string from_planes(std::string_view planes);

}  // namespace yantra
