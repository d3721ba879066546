// Reads the layouts before 0.0.4.
//
// Files do not state their layout. One fits if it explains every field of every record by number
// and wire type, with all that its writers always write and no unexpected repetition. The result
// has today's meaning: renumbered types and collectives, `parent` as data dependencies, run times
// as durations in microseconds, properties as attributes. Trade-off: unlike in protobuf, unknown
// fields are not skipped. Source: MLCommons Chakra, eg_def.proto of January 2023 and et_def.proto
// of June to August 2023.
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>

#include "base/wire.hpp"
#include "trace/trace.hpp"

namespace yantra {

// The trace, or the fault and how many records came before it.
struct Attempt {
    Layout layout;
    std::size_t records;
    std::optional<Trace> trace;
    std::optional<TraceFault> fault;
};

// For layouts 0.0.1 to 0.0.3.
Attempt attempt_older(std::string_view bytes, Layout layout);

}  // namespace yantra
