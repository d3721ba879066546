// A network as a Python object with `sends`, `wakes` and `closes`.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/stl/shared_ptr.h>

#include <memory>

#include "network/choice.hpp"

namespace yantra {

std::shared_ptr<const NetworkFactory> network_from_python(nanobind::object make, bool wants_routes);

}  // namespace yantra
