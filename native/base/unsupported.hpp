// Unsupported: what only the run can find and no model here covers.
#pragma once

#include <stdexcept>

namespace yantra {

struct Unsupported : std::runtime_error {
    using std::runtime_error::runtime_error;
};

}  // namespace yantra
