// What holds of every model that a run may be given: each index in its range, and nothing missing.
#pragma once

#include "model/model.hpp"

namespace yantra {

// A job for every rank.
void check_jobs(const Model& model);

// That and everything else. Both throw InternalFault: a model that is wrong is the compiler's mistake.
void check_model(const Model& model);

}  // namespace yantra
