// Columns: vectors of the core as memoryviews, which are shared, not copied, and keep their owner alive.
#pragma once

#include <nanobind/ndarray.h>

#include <vector>

namespace yantra {

template <typename Value>
using Column = nanobind::ndarray<nanobind::memview, const Value, nanobind::ndim<1>>;

template <typename Value, typename Owner>
Column<Value> view(const std::vector<Value>& values, const Owner& owner) {
    return Column<Value>(values.data(), {values.size()}, nanobind::find(owner));
}

// A read-only property that shows the vector `member` of the class, or of one it is made from.
template <typename Class, typename Owner, typename Value>
void column(nanobind::class_<Class>& in, const char* name, std::vector<Value> Owner::* member) {
    in.def_prop_ro(name, [member](const Class& self) { return view(self.*member, self); });
}

}  // namespace yantra
