// Vectors as memoryviews that keep the owner alive.
#pragma once

#include <vector>

#include <nanobind/ndarray.h>

namespace yantra {

template <typename Value>
using Column = nanobind::ndarray<nanobind::memview, const Value, nanobind::ndim<1>>;

template <typename Value, typename Owner>
Column<Value> view(const std::vector<Value>& values, const Owner& owner) {
    return Column<Value>(values.data(), {values.size()}, nanobind::find(owner));
}

}  // namespace yantra
