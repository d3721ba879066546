// Registers what templates need: stamping, resolving, lowering for ranks that share a job.
#pragma once

#include <nanobind/nanobind.h>

namespace yantra {

void register_templates(nanobind::module_& module);

}  // namespace yantra
