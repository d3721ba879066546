// Checks of every model: each index in range, and nothing missing.
#pragma once

#include "model/model.hpp"

namespace yantra {

// A job for every rank.
void check_jobs(const Model& model);

// And everything else. Both throw InternalFault, since a wrong model is the compiler's mistake.
void check_model(const Model& model);

}  // namespace yantra
