// Registers the writers of timelines with the extension module.
#pragma once

#include <nanobind/nanobind.h>

namespace yantra {

void register_export(nanobind::module_& module);

}  // namespace yantra
