// Checks of every model: each index in range, and nothing missing.
#pragma once

#include "model/model.hpp"

namespace yantra {

void check_jobs(const Model& model);

// Includes the jobs. Both throw InternalFault: a wrong model is the compiler's mistake.
void check_model(const Model& model);

}  // namespace yantra
