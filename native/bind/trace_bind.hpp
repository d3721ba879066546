// Puts Trace and Graph into the module yantra._core.
#pragma once

#include <nanobind/nanobind.h>

namespace yantra {

void register_trace(nanobind::module_& module);

}  // namespace yantra
