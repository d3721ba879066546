// Reads the layouts before 0.0.4 (MLCommons Chakra, eg_def.proto of January 2023 and et_def.proto
// of June to August 2023). One fits if it explains every field by number and wire type; the result
// has today's meaning. Trade-off: unknown fields are not skipped.
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>

#include "base/wire.hpp"
#include "trace/trace.hpp"

namespace yantra {

struct Attempt {
    Layout layout;
    std::size_t records;
    std::optional<Trace> trace;
    std::optional<TraceFault> fault;
};

// For layouts 0.0.1 to 0.0.3.
Attempt attempt_older(std::string_view bytes, Layout layout);

}  // namespace yantra
