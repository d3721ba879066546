// Columns: vectors of the core as memoryviews, which are shared, not copied, and keep their owner alive.
#pragma once

#include <nanobind/ndarray.h>

#include <vector>

namespace yantra {

template <typename Value>
using Column = nanobind::ndarray<nanobind::memview, const Value, nanobind::ndim<1>>;

template <typename Class, typename Base, typename Value>
void column(nanobind::class_<Class>& in, const char* name, std::vector<Value> Base::* member) {
    in.def_prop_ro(name, [member](const Class& self) {
        const std::vector<Value>& values = self.*member;
        return Column<Value>(values.data(), {values.size()}, nanobind::find(self));
    });
}

}  // namespace yantra
