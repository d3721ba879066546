// Checks that every node of a trace says what a simulator needs to know about it.
//
// Trade-off: judged without knowing the run: a node that lacks an attribute is an error here even if a
// replay by recorded durations would never ask for it. Structure (ids, dependencies, types of
// attributes) is judged when the Graph is built.
// Source: MLCommons Chakra schema 0.0.4 and its feeder; ASTRA-sim 2's workload layer.
#pragma once

#include "base/vector.hpp"
#include "trace/diagnostic.hpp"
#include "trace/graph.hpp"
#include "trace/trace.hpp"

namespace yantra {

// `graph` is the graph of `trace`. Its own diagnostics are not repeated.
Vector<Diagnostic> check(const Trace& trace, const Graph& graph);

}  // namespace yantra
