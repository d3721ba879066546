// Signed numbers folded to small unsigned ones: 0, -1, 1, -2, ... become 0, 1, 2, 3, ... (Protocol
// Buffers, encoding, "Signed Integers").
#pragma once

#include <cstdint>

namespace yantra {

constexpr std::uint64_t zigzag(std::uint64_t value) { return (value << 1U) ^ (0U - (value >> 63U)); }

constexpr std::uint64_t unzigzag(std::uint64_t bits) { return (bits >> 1U) ^ (0U - (bits & 1U)); }

}  // namespace yantra
