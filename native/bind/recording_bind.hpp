// Python's view of recorded runs and of what follows from their recordings.
#pragma once

#include <nanobind/nanobind.h>

namespace yantra {

void register_recording(nanobind::module_& module);

}  // namespace yantra
