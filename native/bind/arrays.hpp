// Columns from Python: 64-bit arrays of any kind, sharing their memory.
#pragma once

#include <nanobind/ndarray.h>

#include <span>

#include "base/types.hpp"

namespace yantra {

template <typename Value>
using Array = nanobind::ndarray<const Value, nanobind::ndim<1>, nanobind::c_contig, nanobind::device::cpu>;
using Wholes = Array<u64>;

template <typename Value>
std::span<const Value> span_of(const Array<Value>& array) {
    return {array.data(), array.size()};
}

}  // namespace yantra
