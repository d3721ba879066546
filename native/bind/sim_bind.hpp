// Registers the simulation part of the core.
#pragma once

#include <nanobind/nanobind.h>

namespace yantra {

void register_simulation(nanobind::module_& module);

}  // namespace yantra
