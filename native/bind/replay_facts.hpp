// ReplayFacts: Facts that Python adds to.
#pragma once

#include <nanobind/nanobind.h>

#include <cstdint>
#include <unordered_map>
#include <utility>

#include "trace/replay/facts.hpp"

namespace yantra {

struct ReplayFacts : replay::Facts {
    std::unordered_map<PyObject*, std::pair<nanobind::object, std::uint32_t>> seen;  // tensors that recur
};

}  // namespace yantra
