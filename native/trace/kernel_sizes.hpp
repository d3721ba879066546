// Whole-number attributes of kernels, for models of compute. A new one also needs a line in Kernels
// (src/yantra/compute/model.py), and in whatever writes it.
#pragma once

#include <array>
#include <string_view>

namespace yantra {

inline constexpr std::array<std::string_view, 18> kernel_sizes{
    "batch",     "m",       "n",    "k",      "heads",       "kv_heads", "head_dim", "value_dim",
    "queries",   "keys",    "window", "accumulated", "inner",  "experts",  "top_k",    "skew",
    "cache_bits", "stored"};

}  // namespace yantra
