// Checks that every node has what a simulator needs (MLCommons Chakra schema 0.0.4 and its feeder;
// ASTRA-sim 2's workload layer). Trade-off: a missing attribute is an error even if a run would not
// need it.
#pragma once

#include <vector>

#include "trace/diagnostic.hpp"
#include "trace/graph.hpp"
#include "trace/trace.hpp"

namespace yantra {

// `graph` is that of `trace`; its diagnostics are not repeated.
std::vector<Diagnostic> check(const Trace& trace, const Graph& graph);

}  // namespace yantra
