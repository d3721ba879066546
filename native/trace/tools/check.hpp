// Checks that every node has what a simulator needs.
//
// Trade-off: a missing attribute is an error even if a run with recorded durations would not need
// it. Structure (ids, dependencies, types) is judged by the Graph. Source: MLCommons Chakra schema
// 0.0.4 and its feeder; ASTRA-sim 2's workload layer.
#pragma once

#include "base/vector.hpp"
#include "trace/diagnostic.hpp"
#include "trace/graph.hpp"
#include "trace/trace.hpp"

namespace yantra {

// `graph` is that of `trace`; its diagnostics are not repeated.
Vector<Diagnostic> check(const Trace& trace, const Graph& graph);

}  // namespace yantra
