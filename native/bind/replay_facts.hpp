// ReplayFacts: Facts that Python adds to.
#pragma once

#include <nanobind/nanobind.h>

#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <utility>

#include "trace/replay/facts.hpp"

namespace yantra {

struct ReplayFacts : replay::Facts {
    std::size_t known_operators = 0;
    std::size_t known_ops = 0;
    std::unordered_map<PyObject*, std::pair<nanobind::object, std::uint32_t>> seen;  // tensors that recur
};

}  // namespace yantra
