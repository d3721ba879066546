// Reads the layouts before 0.0.4 and tells which of them a file has.
//
// No file says its layout, so each is tried: a layout fits when it explains every field of every record
// by its number and wire type, with nothing left out that its writers always write. What is read carries
// today's meaning: node types and collectives renumbered, `parent` as data dependencies, run times as
// durations in microseconds, properties as attributes of the types that simulators read today.
// Trade-off: stricter than protobuf, which would skip what it does not know and never notice.
// Source: MLCommons Chakra, eg_def.proto of January 2023 and et_def.proto of June to August 2023.
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>

#include "trace/trace.hpp"

namespace yantra {

// Reads `bytes` as a layout before today's. Throws TraceFault where it does not fit.
Trace decode_older(std::string_view bytes, Layout layout);

// The trace, if an older layout explains the whole file; nothing, if none explains more than `records` of
// its records. Of two that fit, the newer one. Throws TraceFault if layouts fit that number the node types
// differently; else as the layout sees it that explains most of the file.
std::optional<Trace> find_older(std::string_view bytes, std::size_t records);

}  // namespace yantra
