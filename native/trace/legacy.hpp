// Reads the layouts before 0.0.4.
//
// No file says its layout. One fits when it explains every field of every record by its number and wire
// type, with nothing left out that its writers always write, and nothing repeated that they do not repeat.
// What is read carries today's meaning: node types and collectives renumbered, `parent` as data
// dependencies, run times as durations in microseconds, properties as attributes of the types that
// simulators read today.
// Trade-off: stricter than protobuf, which would skip what it does not know and never notice.
// Source: MLCommons Chakra, eg_def.proto of January 2023 and et_def.proto of June to August 2023.
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>

#include "base/wire.hpp"
#include "trace/trace.hpp"

namespace yantra {

// What came of reading a file as one layout: the trace, or the fault and how many records came before it.
struct Attempt {
    Layout layout;
    std::size_t records;
    std::optional<Trace> trace;
    std::optional<TraceFault> fault;
};

// Reads `bytes` as one of the layouts 0.0.1 to 0.0.3.
Attempt attempt_older(std::string_view bytes, Layout layout);

}  // namespace yantra
