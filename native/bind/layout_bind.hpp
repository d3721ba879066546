// Registers what builds the communicators of a model and gives its ranks their jobs.
#pragma once

#include <nanobind/nanobind.h>

namespace yantra {

void register_layout(nanobind::module_& module);

}  // namespace yantra
