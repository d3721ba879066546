// Planes: whole numbers as bytes that deflate well, for tables in result files.
//
// Differences, with the sign in the lowest bit: all lowest bytes, then all second bytes, and so on,
// in eight planes. If numbers change slowly, most planes are zero; these are written too, so that
// the length gives the count. Source: the shuffle filter of HDF5 and Blosc; the zigzag of Protocol
// Buffers.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "base/types.hpp"

namespace yantra {

std::string to_planes(std::span<const u64> numbers);

// The numbers, eight bytes each in native order. Precondition: `planes` is a multiple of eight
// bytes.
std::string from_planes(std::string_view planes);

}  // namespace yantra
