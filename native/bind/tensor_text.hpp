// Puts the text of recorded tensors into the module yantra._core.
#pragma once

#include <nanobind/nanobind.h>

namespace yantra {

void register_tensor_text(nanobind::module_& module);

}  // namespace yantra
