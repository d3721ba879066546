// Vectors as memoryviews that share memory and keep the owner alive.
#pragma once

#include <nanobind/ndarray.h>

#include "base/vector.hpp"

namespace yantra {

template <typename Value>
using Column = nanobind::ndarray<nanobind::memview, const Value, nanobind::ndim<1>>;

template <typename Value, typename Owner>
Column<Value> view(const Vector<Value>& values, const Owner& owner) {
    return Column<Value>(values.data(), {values.size()}, nanobind::find(owner));
}

}  // namespace yantra
