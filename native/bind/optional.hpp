// "None" values of the core as None.
#pragma once

#include <nanobind/stl/optional.h>

#include <optional>

#include "base/ids.hpp"
#include "run/outcome.hpp"

namespace yantra {

inline std::optional<u32> unless_none(u32 index) {
    return index == none ? std::nullopt : std::optional(index);
}

inline std::optional<u64> unless_never(u64 ticks) {
    return ticks == never ? std::nullopt : std::optional(ticks);
}

template <class Typed>
std::optional<Typed> typed_unless_none(u32 index) {
    return index == none ? std::nullopt : std::optional(static_cast<Typed>(index));
}

}  // namespace yantra
