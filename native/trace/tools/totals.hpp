// Totals of a trace: computation, communication, and live activations. Trade-off: activations are
// counted in file order, while a run may overlap them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "trace/trace.hpp"

namespace yantra {

struct ComputeTotal {
    std::string op_class;  // empty: unknown
    std::string phase;
    std::uint64_t count = 0;
    std::uint64_t operations = 0;
    std::uint64_t bytes = 0;
};

struct CommunicationTotal {
    std::int32_t type = 0;  // NodeType
    std::uint64_t comm_type = 0;
    std::string group;
    std::uint64_t count = 0;
    std::uint64_t bytes = 0;
};

struct Totals {
    std::vector<ComputeTotal> compute;
    std::vector<CommunicationTotal> communication;
    std::int64_t activations_peak = 0;            // bytes
    std::vector<std::int64_t> activations;  // peak in each part of the trace, in order
};

// Equal parts of the trace for `activations`. Sums wrap at 2^64.
Totals total(const Trace& trace, std::size_t parts);

}  // namespace yantra
