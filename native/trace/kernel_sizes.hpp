// What a node may say of its kernel, for models of compute: attributes with whole numbers, by name. A new
// one is a line here, one in Kernels (src/yantra/compute/model.py), and whoever writes it into traces.
#pragma once

#include <array>
#include <string_view>

namespace yantra {

inline constexpr std::array<std::string_view, 18> kernel_sizes{
    "batch",     "m",       "n",    "k",      "heads",       "kv_heads", "head_dim", "value_dim",
    "queries",   "keys",    "window", "accumulated", "inner",  "experts",  "top_k",    "skew",
    "cache_bits", "stored"};

}  // namespace yantra
